"""Applies while servers do not answer: what leads to them waits and says why, and nothing else waits with it."""

import signal
import time
from collections.abc import Iterator

import pytest
from django.utils import timezone

from core.audit.models import Entry
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools import deployment, tasks
from pools.models import Cluster, Pool, Pooler, PoolState, RevisionState
from pools.poolers.pgbouncer import verify
from pools.poolers.pgbouncer.session import PgBouncerSession
from tests.callers import person
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE, FAST, SUPERUSER_PASSWORD
from tests.live.pools.conftest import Live, LogIn, MakePool, state_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def other_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A second server with the same role and database."""
    home = tmp_path_factory.mktemp("other")
    with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=FAST) as server:
        server.create_owner_and_database(APP_ROLE, APP_PASSWORD, APP_DATABASE)
        yield server


@pytest.fixture
def other(other_postgres: PostgresServer, cluster: Cluster) -> Iterator[Cluster]:
    """It registered; a test may stop it."""
    made = registered("other", other_postgres.port, cluster)
    known = made.role_passwords.model(cluster=made, role=APP_ROLE)
    known.password = APP_PASSWORD
    known.save()
    yield made
    if not other_postgres.is_running:
        other_postgres.start()


def registered(name: str, port: int, like: Cluster) -> Cluster:
    made = Cluster(name=name, host=like.host, port=port, admin_user=like.admin_user, sslmode="disable")
    made.admin_password = like.admin_password
    made.save()
    return made


def reason_at(server: PostgresServer) -> str:
    return (
        f"cluster other does not answer: connection refused: nothing listens at {server.host}:{server.port}: start "
        "the server, or correct the host or the port; retried every 60 s"
    )


def test_new_pools_wait_for_a_server_that_is_down_while_others_go_live(
    make_pool: MakePool, pooler: Pooler, other: Cluster, other_postgres: PostgresServer, live: Live, log_in: LogIn
) -> None:
    other_postgres.stop()
    away, here = [make_pool(f"away{number}", cluster=other) for number in range(3)], make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert [state_of(pool) for pool in away] == [(PoolState.PENDING, reason_at(other_postgres))] * 3
    assert (state_of(here), list(live()), log_in("orders")) == ((PoolState.APPLIED, ""), ["orders"], "app")
    assert pooler.revisions.count() == 2
    for _ in range(3):  # each minute
        assert deployment.apply_pooler(pooler).state == RevisionState.FAILED
    assert [(one.number, one.state) for one in pooler.revisions.all()] == [(3, "failed"), (2, "applied"), (1, "failed")]
    assert deployment.waiting_poolers() == []  # it rests
    tasks.apply_what_waits()
    assert pooler.revisions.count() == 3
    other_postgres.start()
    tasks.apply_what_waits()  # Beat does this every 5 s.
    assert [state_of(pool) for pool in away] == [(PoolState.APPLIED, "")] * 3
    assert log_in("away0") == "app"


def test_a_live_pool_whose_server_went_down_stays_and_holds_nothing_up(
    make_pool: MakePool, pooler: Pooler, other: Cluster, other_postgres: PostgresServer, live: Live, log_in: LogIn
) -> None:
    stays, leaves, here = make_pool("stays", cluster=other), make_pool("leaves", cluster=other), make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    other_postgres.stop()
    started = time.monotonic()
    here.edit(None, size=5, state=PoolState.PENDING)
    stays.edit(None, size=7, state=PoolState.PENDING)
    Pool.objects.filter(pk=leaves.pk).update(removal_requested_at=timezone.now(), state=PoolState.PENDING)
    pooler.edit(None, settings={"query_wait_timeout": 33}, settings_state=PoolState.PENDING)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert time.monotonic() - started < verify.LOGIN_TIMEOUT_S  # no login through the pooler waits for the dead server
    assert live() == {"orders": ("app", "app", 5, "transaction", 5), "stays": ("app", "app", 3, "transaction", 3)}
    assert (state_of(here), state_of(stays)) == (
        (PoolState.APPLIED, ""),
        (PoolState.PENDING, reason_at(other_postgres)),
    )
    pooler.refresh_from_db()
    assert (pooler.settings_state, log_in("orders")) == (PoolState.APPLIED, "app")
    other_postgres.start()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (state_of(stays), live()["stays"][2], log_in("stays")) == ((PoolState.APPLIED, ""), 7, "app")


def test_an_untouched_pool_of_a_server_that_is_down_stays_applied_through_a_change_of_settings(
    make_pool: MakePool, pooler: Pooler, other: Cluster, other_postgres: PostgresServer, live: Live
) -> None:
    untouched = make_pool("untouched", cluster=other)
    deployment.apply_pooler(pooler)
    other_postgres.stop()
    pooler.edit(None, settings={"server_tls_sslmode": "prefer"}, settings_state=PoolState.PENDING)
    revision = deployment.apply_pooler(pooler)
    assert (revision.state, state_of(untouched), list(live())) == ("applied", (PoolState.APPLIED, ""), ["untouched"])
    noted = [step["detail"] for step in revision.steps if step["step"] == "noted"]
    assert any(one.startswith("pool untouched can't show what the new settings do: cluster other") for one in noted)


def test_a_server_that_goes_down_between_preflight_and_login_keeps_its_pools_waiting(
    make_pool: MakePool,
    pooler: Pooler,
    other: Cluster,
    other_postgres: PostgresServer,
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verify, "LOGIN_TIMEOUT_S", 4)
    go_live = PgBouncerSession.go_live

    def stop_then_go_live(session: PgBouncerSession, *values: object) -> None:
        other_postgres.stop()
        go_live(session, *values)

    away, here = make_pool("away", cluster=other), make_pool()
    monkeypatch.setattr(PgBouncerSession, "go_live", stop_then_go_live)
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert state_of(away) == (PoolState.PENDING, reason_at(other_postgres))
    assert (state_of(here), list(live())) == ((PoolState.APPLIED, ""), ["orders"])


def test_a_server_that_says_nothing_is_waited_for_once(
    make_pool: MakePool, pooler: Pooler, other: Cluster, other_postgres: PostgresServer, live: Live
) -> None:
    make_pool("stays", cluster=other)
    deployment.apply_pooler(pooler)
    other_postgres.kill(signal.SIGSTOP)
    try:
        away = [make_pool(f"away{number}", cluster=other, database=f"db{number}") for number in range(4)]
        pooler.edit(None, settings={"query_wait_timeout": 33}, settings_state=PoolState.PENDING)
        started = time.monotonic()
        assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
        assert time.monotonic() - started < 20  # twice 5 s: for the pools, and for the one that shows the settings
    finally:
        other_postgres.kill(signal.SIGCONT)
    assert {state_of(pool)[0] for pool in away} == {PoolState.PENDING}
    assert "no answer from" in away[0].state_reason
    assert list(live()) == ["stays"]


def test_many_servers_that_are_down_take_one_attempt(make_pool: MakePool, pooler: Pooler, cluster: Cluster) -> None:
    down = [registered(f"down{port}", port, cluster) for port in range(1, 31)]
    away = [make_pool(f"away{one.port}", cluster=one, user="") for one in down]
    here = make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert (pooler.revisions.count(), state_of(here)) == (2, (PoolState.APPLIED, ""))
    for port, pool in enumerate(away, start=1):
        state, reason = state_of(pool)
        assert (state, reason.split(": ")[0]) == (PoolState.PENDING, f"cluster down{port} does not answer")


def test_a_server_that_is_back_is_not_kept_waiting_by_others_that_are_down(
    make_pool: MakePool, pooler: Pooler, cluster: Cluster, other: Cluster, other_postgres: PostgresServer
) -> None:
    other_postgres.stop()
    gone = registered("gone", 1, cluster)
    gone.keep_password(APP_ROLE, APP_PASSWORD)
    first, second = make_pool("first", cluster=gone), make_pool("second", cluster=other)
    deployment.apply_pooler(pooler)
    tasks.apply_what_waits()
    assert (state_of(first)[0], state_of(second)[0]) == (PoolState.PENDING, PoolState.PENDING)
    other_postgres.start()
    tasks.apply_what_waits()
    assert (state_of(first)[0], state_of(second)) == (PoolState.PENDING, (PoolState.APPLIED, ""))


def test_an_apply_that_can_not_begin_is_in_the_trail_once_for_each_reason(
    make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer
) -> None:
    user = person("ana")
    make_pool()
    pgbouncer.stop()
    Entry.objects.all().delete()
    for author in (user, None, None):  # somebody asked for it, and beat tries again
        deployment.apply_pooler(Pooler.objects.get(pk=pooler.pk), author)
    (told,) = Entry.objects.filter(action="pooler.apply")
    assert (told.asked_by, told.object_name, told.outcome.partition(":")[0]) == ("ana", pooler.name, "failed")
    assert told.outcome.removeprefix("failed: ") == Pool.objects.get().state_reason
