"""The consoles of the poolers: ones that hang, and answers as a worker keeps them in Redis."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from unittest import mock

from core.audit.tracking import TRACKED
from pools.models import Pooler
from pools.monitoring import redis_store, sampler
from pools.monitoring.prometheus import answer_of
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.console_sample import Counters, PoolFigures
from tests.bench.scale import seeding, servers

KEPT_S = 600


@contextmanager
def silent() -> Iterator[None]:
    """Let each pooler's address be one that takes connections and never answers."""
    with servers.silent_console() as port:
        with mock.patch.dict(TRACKED, clear=True):
            Pooler.objects.update(port=port)
        sampler._cache.clear()
        yield
    while getattr(sampler, "_polled", None):  # consoles that are gone end the polls that still wait for them
        time.sleep(0.1)


def keep_answers() -> None:
    """Keep an answer of each pooler with a row for each of its pools, as new all the time as a worker would keep it."""
    for pooler, pools in seeding.pools_of(Pooler.objects.all()):
        names = [(pool.name, pool.user or "postgres") for pool in pools]
        key = f"{pooler.pk}:{pooler.version}"
        snapshot = ConsoleSnapshot(
            at=time.time() + KEPT_S,
            figures={name: PoolFigures() for name, _user in names},
            counters={name: Counters() for name, _user in names},
            rows={
                "pools": [_pool_row(name, user) for name, user in names],
                "stats": [_stats_row(name) for name, _user in names],
                "databases": [_database_row(name, user) for name, user in names],
            },
            serves_s=KEPT_S,
        )
        redis_store.keep(f"look:{key}", asdict(snapshot), KEPT_S)
        redis_store.keep_bytes(f"metrics:{key}", answer_of(pooler, snapshot).packed(), KEPT_S)
        redis_store.hold(f"asked:{key}", KEPT_S)


def _pool_row(name: str, user: str) -> dict[str, object]:
    figures = "cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel "
    figures += "sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us"
    return {"database": name, "user": user, **dict.fromkeys(figures.split(), 3), "pool_mode": "transaction"}


def _stats_row(name: str) -> dict[str, object]:
    figures = "xact_count query_count received sent xact_time query_time wait_time client_parse_count "
    figures += "server_parse_count bind_count"
    return {"database": name, **{f"total_{figure}": 123_456_789 for figure in figures.split()}}


def _database_row(name: str, user: str) -> dict[str, object]:
    figures = dict.fromkeys(("pool_size", "reserve_pool_size", "max_connections", "current_connections"), 5)
    words = {"name": name, "host": "10.1.0.1", "port": 5432, "database": name, "force_user": user}
    return {**words, **figures, "pool_mode": "transaction", "paused": 0, "disabled": 0}
