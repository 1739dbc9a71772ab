"""How often an apply tries: once for all bad pools that a login finds, once for a full cluster, and never for ever."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools import deployment
from pools.deployment import pipeline
from pools.models import Pool, Pooler, PoolState, RevisionState
from tests.live.pools.conftest import Live, MakePool

pytestmark = pytest.mark.django_db(transaction=True)

MORE_THAN_IT_HAS = 1000


@contextmanager
def full(postgres: PostgresServer) -> Iterator[None]:
    """Takes every connection that the server gives to roles like `app`."""
    login = {"user": "app", "password": "app-password", "dbname": "app"}
    with ExitStack() as taken:
        refusal = pytest.raises(psycopg.OperationalError, match=r"too many clients|slots are reserved")
        with refusal:
            for _ in range(MORE_THAN_IT_HAS):
                taken.enter_context(psycopg.connect(host=postgres.host, port=postgres.port, **login))
        yield


def states() -> dict[str, str]:
    return dict(Pool.objects.values_list("name", "state"))


def test_a_full_cluster_is_tried_once_and_all_its_pools_wait(
    make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, live: Live
) -> None:
    make_pool()
    deployment.apply_pooler(pooler)
    fresh = [make_pool(f"pool{number}", database=("app", "postgres")[number % 2]) for number in range(6)]
    with full(postgres):
        revision = deployment.apply_pooler(pooler)
        assert (revision.state, pooler.revisions.count(), list(live())) == (RevisionState.FAILED, 2, ["orders"])
    fresh[0].refresh_from_db()
    assert states() == {"orders": PoolState.APPLIED} | {pool.name: PoolState.PENDING for pool in fresh}
    assert "refuses all logins for now: " in fresh[0].state_reason
    assert fresh[0].state_reason.endswith("or make pools smaller; retried every 60 s")
    assert deployment.waiting_poolers() == []  # it rests
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED  # asked by somebody
    assert set(states().values()) == {PoolState.APPLIED}


def test_what_does_not_lead_to_the_full_cluster_goes_live(
    make_pool: MakePool, pooler: Pooler, postgres: PostgresServer, live: Live
) -> None:
    leaving = make_pool("leaving")
    deployment.apply_pooler(pooler)
    make_pool("fresh")
    pooler.edit(None, settings={"query_wait_timeout": 33}, settings_state=PoolState.PENDING)
    leaving.delete()  # as by somebody who knows what they do: only the settings are left to settle
    with full(postgres):
        revision = deployment.apply_pooler(pooler)
    pooler.refresh_from_db()
    assert (revision.state, pooler.settings_state) == (RevisionState.APPLIED, PoolState.APPLIED)
    assert (states(), live()) == ({"fresh": PoolState.PENDING}, {})


def test_all_bad_pools_are_found_by_one_attempt_each_with_its_own_reason(
    make_pool: MakePool, pooler: Pooler, live: Live
) -> None:
    bad = [make_pool(f"bad{number}", database=f"missing{number}") for number in range(4)]
    make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (pooler.revisions.count(), list(live())) == (2, ["orders"])
    assert "and 3 more such faults" in pooler.revisions.last().reason
    for number, pool in enumerate(bad):
        pool.refresh_from_db()
        assert pool.state == PoolState.ROLLED_BACK
        assert f"'missing{number}'" in pool.state_reason


def test_after_many_attempts_the_rest_is_given_up(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "MOST_ATTEMPTS", 2)
    main = pgbouncer.config_dir / "pgbouncer.ini"
    mine = "".join(f"mine{number} = host=127.0.0.1\n" for number in range(3))
    main.write_text(main.read_text().replace("[databases]\n", f"[databases]\n{mine}"))
    pools = [make_pool(f"mine{number}") for number in range(3)] + [make_pool()]
    deployment.apply_pooler(pooler)
    assert pooler.revisions.count() == 2
    for pool in pools:
        pool.refresh_from_db()
    assert {pool.state for pool in pools} == {PoolState.ROLLED_BACK}
    assert pools[-1].state_reason.startswith("given up after")
    assert "already has an entry mine1" in pools[-1].state_reason
    assert "orders" not in live()
