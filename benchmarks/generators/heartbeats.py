"""The heartbeats that workers leave in Redis: who lives, of those that take runs and of those that take tasks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import redis

from benchmarks.errors import QueueDown
from panel.lib import redis_client
from panel.lib.queues import WorkerKind

RUNS, TASKS = "pooldeck:generators", "pooldeck:workers"
ALIVE_WITHIN = timedelta(seconds=15)  # a worker beats every 2 s; a loaded machine may be late
REMEMBERED_FOR = timedelta(days=7)
ANSWER_WITHIN_S = 2


@dataclass(frozen=True)
class Heartbeat:
    """A worker by the name of its POOLDECK_GENERATOR, and when it was heard last."""

    name: str
    last_seen_at: datetime

    def is_alive(self, now: datetime) -> bool:
        """Whether its last heartbeat is recent enough to give it work."""
        return now - self.last_seen_at <= ALIVE_WITHIN


@contextmanager
def asking_redis() -> Iterator["redis.Redis"]:
    """A connection for a question or two, with a deadline; raises `QueueDown`."""
    try:
        with redis_client.opened(ANSWER_WITHIN_S) as client:
            yield client
    except redis.RedisError as error:
        raise QueueDown("redis can't be reached, so it is unknown which generators live; try again") from error


def beat(name: str, kind: WorkerKind) -> None:
    """Leave a heartbeat of a worker for what it takes; raises `QueueDown`."""
    keys = ([RUNS] if kind.takes_runs else []) + ([TASKS] if kind.takes_tasks else [])
    with asking_redis() as client:
        for key in keys:
            client.zadd(key, {name: time.time()})


def seen(key: str = RUNS) -> list[Heartbeat]:
    """The workers of the last week that take runs (or `TASKS`), the latest first; raises `QueueDown`."""
    with asking_redis() as client:
        client.zremrangebyscore(key, "-inf", time.time() - REMEMBERED_FOR.total_seconds())
        found: Any = client.zrevrange(key, 0, -1, withscores=True)  # typed for every protocol; here (name, time) pairs
    return [Heartbeat(name=name, last_seen_at=datetime.fromtimestamp(score, UTC)) for name, score in found]


def missing() -> list[str]:
    """What no worker that lives takes: `tasks`, `runs`; raises `QueueDown`."""
    now = datetime.now(UTC)
    keys = {"tasks": TASKS, "runs": RUNS}
    return [name for name, key in keys.items() if not any(one.is_alive(now) for one in seen(key))]


def forget(name: str) -> None:
    """Drop what is kept of a generator's heartbeats; raises `QueueDown`."""
    with asking_redis() as client:
        client.zrem(RUNS, name)
