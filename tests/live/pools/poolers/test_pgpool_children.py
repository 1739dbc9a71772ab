"""Children of a real Pgpool-II that serve clients while a pool is applied, and read its password later."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from panel.quickstart.pgpool_server import PgpoolServer
from pools import deployment, tasks
from pools.models import Pooler, RevisionState
from pools.poolers.pgpool import pcp
from tests.live.conftest import CHILDREN
from tests.live.pools.deployment.test_pgpool_apply import MakePool, log_in, make_pool, spec
from tests.live.standbys import until

__all__ = ["make_pool"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("without_trial")]
CLIENTS = 5


@contextmanager
def clients(server: PgpoolServer) -> Iterator[list["psycopg.Connection[tuple[object, ...]]"]]:
    """Sessions of the superuser, each of which holds a child."""
    login = {"user": server.backend.superuser, "password": server.backend.password, "dbname": "postgres"}
    with ExitStack() as held:
        yield [
            held.enter_context(psycopg.connect(host=server.host, port=server.port, autocommit=True, **login))
            for _ in range(CLIENTS)
        ]


def refused(server: PgpoolServer, logins: int = 150) -> int:
    """How many of many logins to the pool fail, whichever children serve them."""
    failed = 0
    for _ in range(logins):
        try:
            log_in(server)
        except psycopg.OperationalError:
            failed += 1
    return failed


def all_wait(pooler: Pooler) -> bool:
    return all(child.waits for child in pcp.children(pooler).values())


def test_one_that_serves_a_client_is_told_again_once_it_is_free(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    with clients(own_pgpool) as held:
        make_pool()
        revision = deployment.apply_pooler(pgpool_pooler)
        assert (revision.state, pgpool_pooler.behind) == (RevisionState.APPLIED, CLIENTS)
        assert f"{CLIENTS} of {CHILDREN} children serve clients" in next(
            one["detail"] for one in revision.steps if one["step"] == "passwords not read yet"
        )
        for session in held:
            session.execute(b"SELECT 1")
        tasks.catch_up()
        pgpool_pooler.refresh_from_db()
        assert (pgpool_pooler.behind, pgpool_pooler.apply_token) == (CLIENTS, None)
    until(lambda: all_wait(pgpool_pooler))
    tasks.catch_up()
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.behind, refused(own_pgpool)) == (0, 0)


def test_what_it_is_for(make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> None:
    """Not told again they refuse logins: the day that this fails, nothing of it is needed."""
    with clients(own_pgpool):
        make_pool()
        deployment.apply_pooler(pgpool_pooler)
    until(lambda: all_wait(pgpool_pooler))
    assert refused(own_pgpool) > 0


def test_clients_that_come_at_every_reload_leave_no_child_behind_for_long(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reload_config: Callable[[Pooler], None] = pcp.reload_config

    def beside_clients(pooler: Pooler) -> None:
        with clients(own_pgpool):
            reload_config(pooler)

    with monkeypatch.context() as patched:
        patched.setattr(pcp, "reload_config", beside_clients)
        make_pool()
        assert deployment.apply_pooler(pgpool_pooler).state == RevisionState.APPLIED
    until(lambda: all_wait(pgpool_pooler))
    tasks.catch_up()
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.behind, refused(own_pgpool)) == (0, 0)


def test_settings_alone_leave_no_child_behind(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    make_pool()
    deployment.apply_pooler(pgpool_pooler)
    spec(pgpool_pooler, client_idle_limit=300)
    with clients(own_pgpool):
        revision = deployment.apply_pooler(pgpool_pooler)
    assert (revision.state, pgpool_pooler.behind) == (RevisionState.APPLIED, 0)


def test_a_pooler_that_is_down_keeps_what_it_has_to_be_told(pgpool_pooler: Pooler, own_pgpool: PgpoolServer) -> None:
    pgpool_pooler.leave_behind(["1 of 2026-01-01 00:00:00"])
    own_pgpool.stop()
    tasks.catch_up()
    pgpool_pooler.refresh_from_db()
    assert (pgpool_pooler.behind, pgpool_pooler.apply_token) == (1, None)


def test_nothing_is_told_while_an_apply_is_under_way(
    make_pool: MakePool, pgpool_pooler: Pooler, own_pgpool: PgpoolServer
) -> None:
    make_pool()
    deployment.apply_pooler(pgpool_pooler)
    pgpool_pooler.leave_behind(["1 of 2026-01-01 00:00:00"])
    assert pgpool_pooler.take_apply_lock("another")
    tasks.catch_up()
    pgpool_pooler.refresh_from_db()
    assert pgpool_pooler.behind == 1
    pgpool_pooler.release_apply_lock()
    tasks.catch_up()
    pgpool_pooler.refresh_from_db()
    assert pgpool_pooler.behind == 0
