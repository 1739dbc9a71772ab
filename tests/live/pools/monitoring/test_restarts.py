"""A PgBouncer that restarts: its process tells it to a check, its counters to a poll where no process is seen."""

from datetime import timedelta

import psycopg
import pytest
from django.utils import timezone

from panel.quickstart.servers import PgBouncerServer, RedisServer
from pools.inventory import poolers
from pools.models import Pool, Pooler, Restart
from pools.monitoring import recorder, sampler
from tests.live.conftest import APP_PASSWORD, APP_ROLE

pytestmark = pytest.mark.django_db(transaction=True)


def restart(pgbouncer: PgBouncerServer) -> None:
    pgbouncer.stop()
    pgbouncer.start()


def test_a_check_tells_when_its_process_started(pooler: Pooler, pgbouncer: PgBouncerServer) -> None:
    poolers.check(Pooler.objects.get(pk=pooler.pk))
    assert list(Restart.objects.all()) == []
    before = timezone.now()
    restart(pgbouncer)
    poolers.check(Pooler.objects.get(pk=pooler.pk))
    (found,) = Restart.objects.all()
    a_tick = timedelta(seconds=1)  # the kernel counts starts in hundredths, from a boot known to the second
    assert (found.pooler, found.process, found.evidence) == (pooler, "", "process")
    assert before - a_tick <= found.at <= timezone.now() + a_tick


def polled(pool: Pool, pgbouncer: PgBouncerServer, queries: int = 0) -> None:
    """Record what the pool has counted, after so many queries."""
    if queries:
        address = {"host": pgbouncer.host, "port": pgbouncer.port, "user": APP_ROLE, "password": APP_PASSWORD}
        with psycopg.connect(dbname=pool.name, autocommit=True, **address) as session:
            for _number in range(queries):
                session.execute("SELECT 1")
    sampler._cache.clear()
    recorder.record()


def test_counters_tell_it_where_no_process_is_seen(
    pool: Pool, pgbouncer: PgBouncerServer, shared_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "EVERY_S", 0.001)
    monkeypatch.setattr(sampler, "FRESH_S", 0.0)
    Pooler.objects.update(processes=[])
    polled(pool, pgbouncer, queries=20)
    polled(pool, pgbouncer, queries=3)
    with pgbouncer.connect() as console:
        console.execute(f"KILL {pool.name}".encode())
    polled(pool, pgbouncer)
    with pgbouncer.connect() as console:
        console.execute(f"RESUME {pool.name}".encode())
    assert list(Restart.objects.all()) == []
    polled(pool, pgbouncer, queries=20)
    restart(pgbouncer)
    polled(pool, pgbouncer, queries=1)
    assert [(one.pooler_id, one.evidence) for one in Restart.objects.all()] == [(pool.pooler_id, "counters")]
