"""The heartbeats that workers leave in Redis: who lives."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import redis
from django.conf import settings

from benchmarks.errors import QueueDown

KEY = "pooldeck:generators"
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
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_timeout=ANSWER_WITHIN_S,
        socket_connect_timeout=ANSWER_WITHIN_S,
    )
    try:
        yield client
    except redis.RedisError as error:
        raise QueueDown("redis can't be reached, so it is unknown which generators live; try again") from error
    finally:
        client.close()


def beat(name: str) -> None:
    """Leave a heartbeat for the generator; raises `QueueDown`."""
    with asking_redis() as client:
        client.zadd(KEY, {name: time.time()})


def seen() -> list[Heartbeat]:
    """The workers of the last week, the latest first; raises `QueueDown`."""
    with asking_redis() as client:
        client.zremrangebyscore(KEY, "-inf", time.time() - REMEMBERED_FOR.total_seconds())
        found: Any = client.zrevrange(KEY, 0, -1, withscores=True)  # typed for every protocol; here (name, time) pairs
    return [Heartbeat(name=name, last_seen_at=datetime.fromtimestamp(score, UTC)) for name, score in found]


def forget(name: str) -> None:
    """Drop what is kept of a generator's heartbeats; raises `QueueDown`."""
    with asking_redis() as client:
        client.zrem(KEY, name)
