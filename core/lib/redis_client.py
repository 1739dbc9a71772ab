"""Clients of the panel's Redis: a timeout on every answer, no retries, and a circuit breaker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_S = 1.0
REST_S = 1.0  # A missing Redis costs a caller one time-out per second at most.
ERRORS = (redis.RedisError, OSError)


def shared(timeout_s: float = TIMEOUT_S) -> "redis.Redis":
    """Return this process's client, which keeps its connections; its answers are bytes."""
    return _shared(settings.REDIS_URL, timeout_s, is_text=False)


def shared_text(timeout_s: float = TIMEOUT_S) -> "redis.Redis":
    """Return the same, but for answers that are text: a connection for each question costs more than the question."""
    return _shared(settings.REDIS_URL, timeout_s, is_text=True)


@cache
def _shared(url: str, timeout_s: float, *, is_text: bool) -> "redis.Redis":
    return redis.Redis.from_url(url, **_timeouts(timeout_s), retry=Retry(NoBackoff(), 0), decode_responses=is_text)


def reset_shared() -> None:
    """Make the next call of `shared` return a new client."""
    _shared.cache_clear()


@contextmanager
def opened(timeout_s: float = TIMEOUT_S) -> Iterator["redis.Redis"]:
    """Yield a client for a few commands, which is closed afterwards; its answers are text."""
    client = redis.Redis.from_url(
        settings.REDIS_URL, **_timeouts(timeout_s), retry=Retry(NoBackoff(), 0), decode_responses=True
    )
    try:
        yield client
    finally:
        client.close()


def asynchronous() -> "redis.asyncio.Redis":
    """Return an asyncio client, which the caller closes and gives a deadline (`asyncio.timeout`) for each answer.

    With a timeout of its own, redis-py sends by `asyncio.wait_for`, which loses a cancellation now and then (Python
    before 3.12): a task would go on for a client that has left.
    """
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_timeout=None, socket_connect_timeout=TIMEOUT_S, retry=AsyncRetry(NoBackoff(), 0)
    )


def _timeouts(timeout_s: float) -> dict[str, float]:
    return {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}


class Breaker:
    """A circuit breaker: open for `REST_S` after a failure, in which callers do without Redis and lose no time."""

    def __init__(self) -> None:
        self._open_until = 0.0
        self._is_failing = False

    @property
    def is_open(self) -> bool:
        return time.monotonic() < self._open_until

    def trip(self) -> bool:
        """Record a failure; return whether it is the first since Redis answered."""
        is_first, self._is_failing = not self._is_failing, True
        self._open_until = time.monotonic() + REST_S
        return is_first

    def reset(self) -> None:
        """Close the breaker after Redis answered."""
        self._open_until, self._is_failing = 0.0, False
