"""One look a second at a real console, however many processes watch."""

import os
import subprocess
import sys
import time

import pytest

from panel.quickstart.servers import PgBouncerServer, RedisServer
from pools.models import Pool, Pooler
from pools.monitoring import sampler
from pools.monitoring.sampler import ConsoleSnapshot
from tests.live.pools.monitoring.conftest import POOL_SIZE, Load, waiting_at
from tests.live.standbys import until

WATCH = """
import sys, time, uuid, django
django.setup()
from pools.monitoring import sampler
from pools.models import Pooler
pooler = Pooler(id=uuid.UUID(sys.argv[1]), name="edge", host=sys.argv[2], port=int(sys.argv[3]), admin_user=sys.argv[4])
pooler.admin_password = sys.stdin.read()
end, seen = time.monotonic() + 5, set()
while time.monotonic() < end:
    look = sampler.latest(pooler)
    assert not look.error, look.error
    seen.add(look.at)
    time.sleep(0.1)
print(*seen)
"""


def logins(pgbouncer: PgBouncerServer) -> int:
    return pgbouncer.log_path.read_text().count("login attempt: db=pgbouncer")


def test_processes_that_watch_one_pooler_ask_it_once_a_second(
    pgbouncer: PgBouncerServer, pooler: Pooler, shared_redis: RedisServer
) -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "REDIS_URL": shared_redis.url}
    words = [sys.executable, "-c", WATCH, str(pooler.pk), pooler.host, str(pooler.port), pooler.admin_user]
    before, began = logins(pgbouncer), time.monotonic()
    watchers = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(3)
    ]
    for watcher in watchers:
        assert watcher.stdin
        watcher.stdin.write(pooler.admin_password)
        watcher.stdin.close()
    seen = [set(watcher.stdout.read().split()) for watcher in watchers if watcher.stdout]
    assert [watcher.wait() for watcher in watchers] == [0, 0, 0]
    for watcher in watchers:
        if watcher.stdout:
            watcher.stdout.close()
    asked, took_s = set().union(*seen), time.monotonic() - began
    assert 3 <= len(asked) <= took_s + 2, f"{len(asked)} answers in {took_s:.1f} s"
    assert 1 <= logins(pgbouncer) - before <= 3  # each process keeps the console that it opened
    assert min(map(len, seen)) >= 3, f"each saw {seen}"


def test_a_look_tells_what_the_console_tells(
    pgbouncer: PgBouncerServer, pool: Pool, shared_redis: RedisServer, load: Load
) -> None:
    load("SELECT pg_sleep(0.2);", clients=6, seconds=60)
    until(lambda: waiting_at(pool) == 6 - POOL_SIZE)
    time.sleep(2.2)  # two looks without the start

    def at_work() -> ConsoleSnapshot | None:
        """The latest look, unless it met a client between two queries."""
        snapshot = sampler.latest(pool.pooler)
        seen = snapshot.figures["web"]
        states = (seen.cl_active, seen.cl_waiting, seen.sv_active)
        return snapshot if states == (POOL_SIZE, 6 - POOL_SIZE, POOL_SIZE) else None

    snapshot = until(at_work)
    rate = snapshot.rates["web"]
    assert 1 < rate.queries_per_s < 12  # two servers at 200 ms a query
    assert rate.queries_per_s == pytest.approx(rate.transactions_per_s, rel=0.2)
    assert rate.query_ms is not None
    assert rate.wait_ms is not None
    assert 200 < rate.wait_ms < 4_000  # four more wait for their turn
    # PgBouncer counts a query from its arrival, waiting included; the waits of a second are not all of its queries'
    assert 100 <= rate.query_ms - rate.wait_ms < 1_000
    assert set(snapshot.rows) == {"pools", "stats", "databases", "counts", "limits"}


def test_without_redis_a_process_asks_for_itself(pool: Pool) -> None:
    assert sampler.latest(pool.pooler).error == ""
