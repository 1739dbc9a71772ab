"""Refusals whose cause passes: what was refused goes live by itself once it has, and is not repeated before."""

import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment, tasks
from pools.models import Pool, Pooler, PoolState
from tests.live.pools.conftest import LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_broken_line_of_the_operators_is_waited_for(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, log_in: LogIn
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    ini = pgbouncer.config_dir / "pgbouncer.ini"
    whole = ini.read_text()
    ini.write_text(whole + "\nmax_client_conn = many\n")
    fresh = make_pool("fresh")
    deployment.apply_pooler(pooler)
    assert state_of(fresh)[0] == PoolState.ROLLED_BACK
    number = _beat(pooler)
    assert (_beat(pooler), state_of(fresh)[0]) == (number, PoolState.ROLLED_BACK)
    ini.write_text(ini.read_text().replace("\nmax_client_conn = many\n", ""))
    _beat(pooler)
    assert (state_of(fresh), log_in("fresh")) == ((PoolState.APPLIED, ""), "app")


def test_a_database_that_is_made_later_is_waited_for(
    make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, log_in: LogIn
) -> None:
    late = make_pool("late", database="late")
    tasks.check_everything()
    deployment.apply_pooler(pooler)
    assert state_of(late)[0] == PoolState.ROLLED_BACK
    number = _beat(pooler)
    assert _beat(pooler) == number
    with postgres.connect() as session:
        session.execute("CREATE DATABASE late OWNER app")
    try:
        _beat(pooler)
        assert (state_of(late), log_in("late")) == ((PoolState.APPLIED, ""), "app")
    finally:
        Pool.objects.all().delete()
        with postgres.connect() as session:
            session.execute("DROP DATABASE late WITH (FORCE)")


def _beat(pooler: Pooler) -> int:
    """Do what beat does every few seconds; the number of revisions."""
    tasks.prove_pools()
    tasks.apply_what_waits()
    return pooler.revisions.count()
