"""An apply whose process is killed: another worker finishes it within seconds, asked by the clock alone."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import redis
from django.db import connection
from django.utils import timezone

from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer
from pools import deployment
from pools.deployment import live_files
from pools.models import Cluster, Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, verify
from tests.live.panel_programs import TestBeat, TestWorker
from tests.live.pools.conftest import Live, LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)

SOON_S = 25  # beat asks each 5 s, and an apply takes its time, more so on a busy machine
START_S = 60
NEW_PASSWORD = "another-longer-word"
Steps = list[tuple[object, str]]


@pytest.fixture(scope="module")
def lasting_others(
    django_db_setup: None, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestWorker]:
    """Another worker with its clock, as everywhere, for all tests: starting them takes seconds."""
    home = tmp_path_factory.mktemp("others")
    with TestWorker(home, redis_server.url) as worker, TestBeat(home, redis_server.url):
        deadline = time.monotonic() + START_S
        while not list(home.glob("schedule*")):  # Beat creates this file at its start.
            assert time.monotonic() < deadline, "beat did not start"
            time.sleep(0.05)
        yield worker


@pytest.fixture
def others(lasting_others: TestWorker, redis_server: RedisServer, transactional_db: None) -> Iterator[None]:
    """Another worker with its clock; they find nothing to do yet, and the log is shown when the test fails."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    begun = len(lasting_others.log)
    yield
    print(lasting_others.log[begun:])


@pytest.fixture
def orders(make_pool: MakePool, pooler: Pooler) -> Pool:
    """An applied pool beside `steady`, which nobody changes."""
    make_pool("steady", user="")
    pool = make_pool()
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    pool.refresh_from_db()
    return pool


def killed(pooler: Pooler, at: tuple[object, str], ask: Callable[[], None], *, overwrite: bool = False) -> None:
    """Ask for a change and apply it in a process of its own, which is killed right before that step."""
    connection.close()  # each process opens its own
    child = os.fork()
    if child == 0:
        setattr(*at, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        try:
            ask()
            deployment.apply_pooler(Pooler.objects.get(pk=pooler.pk), overwrite=overwrite)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])


def watch(settled: Callable[[], bool], snapshot: Callable[[], None]) -> None:
    """Look again and again until the pooler is settled, and once more."""
    deadline = time.monotonic() + SOON_S
    while not settled():
        snapshot()
        assert time.monotonic() < deadline, list(Revision.objects.values_list("state", "reason"))
        time.sleep(0.05)
    snapshot()


def nothing_waits() -> bool:
    return deployment.waiting_poolers() == [] and not Pooler.objects.exclude(apply_token=None).exists()


BEFORE_RELOAD, BEFORE_LOGIN = (console, "reload"), (verify, "log_in")


@pytest.mark.parametrize("at", [BEFORE_RELOAD, BEFORE_LOGIN], ids=["swapped", "reloaded"])
def test_another_worker_brings_a_new_password_live_and_calls_nothing_applied_before(
    at: tuple[object, str],
    others: None,
    orders: Pool,
    pooler: Pooler,
    cluster: Cluster,
    postgres: PostgresServer,
    live: Live,
    log_in: LogIn,
) -> None:
    def ask() -> None:
        known = cluster.role_passwords.get()
        known.password = NEW_PASSWORD
        known.save()
        Pool.objects.get(name="orders").edit(None, size=5, state=PoolState.PENDING)

    def snapshot() -> None:
        states = dict(Pool.objects.values_list("name", "state"))
        assert states["steady"] == PoolState.APPLIED
        assert log_in("steady", postgres.superuser, postgres.password) == postgres.superuser
        if states["orders"] == PoolState.APPLIED:
            assert live()["orders"] == ("app", "app", 5, "transaction", 5)
            assert log_in("orders", "app", NEW_PASSWORD) == "app"
        else:
            assert states["orders"] == PoolState.PENDING

    with postgres.connect() as session:
        session.execute(f"ALTER ROLE app PASSWORD '{NEW_PASSWORD}'")
    try:
        killed(pooler, at, ask)
        assert Pool.objects.get(name="orders").state == PoolState.PENDING
        watch(nothing_waits, snapshot)
    finally:
        with postgres.connect() as session:
            session.execute("ALTER ROLE app PASSWORD 'app-password'")
    assert Pool.objects.get(name="orders").state == PoolState.APPLIED
    states = list(pooler.revisions.order_by("number").values_list("state", flat=True))
    assert states == [RevisionState.APPLIED, RevisionState.FAILED, RevisionState.APPLIED]
    with pytest.raises(psycopg.OperationalError):
        log_in("orders", "app", "app-password")


def test_overwriting_what_was_changed_by_hand_is_finished_though_nothing_is_asked_of_any_pool(
    others: None, orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live
) -> None:
    before, ini = live(), Path(pgbouncer.config_dir) / "pooldeck.ini"
    ini.write_text(ini.read_text().replace("pool_size=3", "pool_size=4"))
    with pgbouncer.connect() as session:
        session.execute(b"RELOAD")
    killed(pooler, BEFORE_RELOAD, lambda: None, overwrite=True)
    assert live()["orders"][2] == 4
    watch(nothing_waits, lambda: None)
    assert (live(), live_files.live_files(pooler)["state"]) == (before, "in sync")
    assert pooler.revisions.first().state == RevisionState.APPLIED


def test_what_waits_for_a_cluster_keeps_nobody_from_finishing(
    others: None, orders: Pool, make_pool: MakePool, pooler: Pooler, cluster: Cluster, live: Live
) -> None:
    down = Cluster(name="down", host=cluster.host, port=1, admin_user=cluster.admin_user)
    down.admin_password = cluster.admin_password
    down.save()

    def ask() -> None:
        make_pool("away", user="", cluster=down)
        Pool.objects.get(name="orders").edit(None, size=5, state=PoolState.PENDING)

    killed(pooler, BEFORE_RELOAD, ask)
    pooler.refresh_from_db()
    assert pooler.rests_until > timezone.now() + timedelta(seconds=30)  # an attempt before met the cluster
    watch(nothing_waits, lambda: None)
    assert live()["orders"] == ("app", "app", 5, "transaction", 5)
    assert dict(Pool.objects.values_list("name", "state")) == {
        "steady": PoolState.APPLIED,
        "orders": PoolState.APPLIED,
        "away": PoolState.PENDING,
    }


def test_a_pooler_that_is_down_meanwhile_is_not_taken_for_one_whose_files_are_proved(
    orders: Pool, pooler: Pooler, pgbouncer: PgBouncerServer, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = live()
    killed(pooler, BEFORE_LOGIN, lambda: Pool.objects.get(name="orders").edit(None, size=5, state=PoolState.PENDING))
    pgbouncer.stop()
    assert deployment.apply_pooler(pooler) is None
    assert pooler.revisions.first().state == RevisionState.PENDING
    pgbouncer.start()

    def refuse(pooler: Pooler, pool: Pool, *_: object, **__: object) -> str:
        raise Rejected("no", pool.pk)

    monkeypatch.setattr(verify, "log_in", refuse)
    assert deployment.apply_pooler(pooler).state == RevisionState.ROLLED_BACK
    assert live() == before
