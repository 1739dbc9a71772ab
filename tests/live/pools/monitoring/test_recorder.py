"""Minutes recorded before a real PgBouncer under a real load, compared with its own SHOW STATS."""

import threading
import time
from types import SimpleNamespace

import pytest
from django.db import connections

from core.lib import redis_client
from panel.quickstart.servers import PgBouncerServer, RedisServer
from pools.inventory import poolers
from pools.models import Event, EventKind, Pool, PoolerMinute, PoolMinute
from pools.monitoring import core_watch, redis_store, sampler, thresholds
from pools.monitoring import recorder as recorder_module
from pools.monitoring.hysteresis import Rule
from tests.live.pools.monitoring.conftest import POOL_SIZE, Load, waiting_at
from tests.live.standbys import until


@pytest.fixture(autouse=True)
def every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look a second instead of one in ten."""
    monkeypatch.setattr(recorder_module, "EVERY_S", 1)


def totals(pgbouncer: PgBouncerServer) -> dict[str, float]:
    """What PgBouncer has counted for the pool `web`, and when it was asked (Unix, in s)."""
    with pgbouncer.connect() as console:
        cursor = console.execute(b"SHOW STATS")
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
    counted = next(row for row in rows if row["database"] == "web")
    return {name: float(counted[name]) for name in names if name.startswith("total_")} | {"at": time.time()}


@pytest.fixture
def new_minute(monkeypatch: pytest.MonkeyPatch) -> int:
    """A minute that has just begun, by the clock of the sampler and the recorder."""
    ahead_s = 60 - time.time() % 60
    clock = SimpleNamespace(time=lambda: time.time() + ahead_s, monotonic=time.monotonic, sleep=time.sleep)
    for module in (recorder_module, sampler):
        monkeypatch.setattr(module, "time", clock)
    return int(clock.time() // 60)


@pytest.mark.django_db(transaction=True)
def test_a_minute_agrees_with_the_programs_own_counters(
    pgbouncer: PgBouncerServer, pool: Pool, shared_redis: RedisServer, load: Load, new_minute: int
) -> None:
    load("SELECT pg_sleep(0.1);", clients=6, seconds=60)
    until(lambda: waiting_at(pool) == 6 - POOL_SIZE, 15)
    recorder_module.record()
    began = totals(pgbouncer)
    for _ in range(10):
        time.sleep(1)
        recorder_module.record()
    ended = totals(pgbouncer)
    recorder_module.store_minute(new_minute)
    row = PoolMinute.objects.get()
    counted = {name: ended[name] - value for name, value in began.items()}
    truth = counted["total_query_count"] / counted["at"]
    assert (row.pool_id, row.minute) == (pool.pk, new_minute)
    assert row.snapshots >= 10
    assert row.queries_per_s_avg == pytest.approx(truth, rel=0.2)
    assert row.queries_per_s_max is not None
    assert row.queries_per_s_max >= row.queries_per_s_avg
    assert (row.sv_active_max, row.cl_waiting_max) == (POOL_SIZE, 6 - POOL_SIZE)
    times = [counted[f"total_{name}_time"] for name in ("query", "wait")]
    query_ms, wait_ms = [microseconds / counted["total_query_count"] / 1000 for microseconds in times]
    assert (row.query_ms_avg, row.wait_ms_avg) == (pytest.approx(query_ms, rel=0.2), pytest.approx(wait_ms, rel=0.2))
    assert 100 < wait_ms < query_ms - 90  # two turns of those before, and then the sleep
    whole = PoolerMinute.objects.get()
    assert (whole.queries_per_s_avg, whole.cl_active_avg) == (row.queries_per_s_avg, row.cl_active_avg)


@pytest.mark.django_db(transaction=True)
def test_two_recorders_at_once_look_once_and_write_each_minute_once(
    pgbouncer: PgBouncerServer, pool: Pool, shared_redis: RedisServer, new_minute: int
) -> None:
    def work() -> None:
        try:
            for _ in range(8):
                recorder_module.record()
                time.sleep(0.5)
            redis_client.shared().delete(f"{redis_store.PREFIX}folded:{new_minute}")
            recorder_module.store_minute(new_minute)
        finally:
            connections.close_all()

    recorders = [threading.Thread(target=work) for _ in range(2)]
    before = pgbouncer.log_path.read_text().count("login attempt: db=pgbouncer")
    began = time.monotonic()
    for recorder in recorders:
        recorder.start()
    for recorder in recorders:
        recorder.join()
    asked = pgbouncer.log_path.read_text().count("login attempt: db=pgbouncer") - before
    took_s = time.monotonic() - began
    assert asked <= took_s + 2, f"{asked} looks in {took_s:.1f} s"
    assert PoolMinute.objects.count() == 1
    noted = PoolMinute.objects.get().snapshots  # more than asked: a poll serves the looks of less than a second later
    assert asked <= noted <= took_s + 2, f"{noted} snapshots of {asked} polls in {took_s:.1f} s"


def standing_after_a_look() -> int:
    time.sleep(1)
    recorder_module.record()
    return Event.objects.ongoing().filter(kind=EventKind.WAITING).count()


@pytest.mark.django_db(transaction=True)
def test_an_event_opens_under_load_and_closes_after_it(
    pgbouncer: PgBouncerServer, pool: Pool, shared_redis: RedisServer, load: Load
) -> None:
    thresholds.change({EventKind.WAITING: (Rule(3, 1, 2), True)})
    under_load = load("SELECT pg_sleep(0.02);", clients=6, seconds=60)
    until(lambda: waiting_at(pool) == 6 - POOL_SIZE)
    until(lambda: standing_after_a_look() == 1)
    under_load.terminate()
    until(lambda: standing_after_a_look() == 0)
    event = Event.objects.get(kind=EventKind.WAITING)
    assert event.subject_name == "web"
    assert event.value in (3, 6 - POOL_SIZE)  # one of them may be between two of its transactions
    assert event.closed_at is not None


@pytest.mark.django_db(transaction=True)
def test_a_dead_pooler_delays_no_other_and_raises_its_event(pool: Pool, shared_redis: RedisServer) -> None:
    thresholds.change({EventKind.POOLER_DOWN: (Rule(1, 1, 0), True)})
    pool.pooler.edit(None, port=1)
    began = time.monotonic()
    recorder_module.record()
    assert time.monotonic() - began < 10
    assert Event.objects.ongoing().filter(kind=EventKind.POOLER_DOWN).count() == 1


@pytest.mark.django_db(transaction=True)
def test_the_use_of_the_core_is_read_of_the_process_that_a_check_found(pool: Pool, shared_redis: RedisServer) -> None:
    assert poolers.check(pool.pooler) == ""
    (pid,) = [row["pid"] for row in pool.pooler.processes]
    assert core_watch.uses_of([pool.pooler]) == {}
    time.sleep(1.1)
    (found,) = core_watch.uses_of([pool.pooler]).values()
    assert (found.pid, 0 <= found.use.running <= 1) == (pid, True)
