"""What the panel's processes share about poolers: short-lived texts in Redis, and who may make the next one."""

import json
import logging
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)
T = TypeVar("T")

TIMEOUT_S = 1.0
REST_S = 1.0  # after a failure, so that a missing Redis costs one timeout a second at the most
PREFIX = "pooldeck:monitoring:"


class SharingDown(Exception):
    """Redis can't be reached: each process is on its own."""


class _Rest:
    until = 0.0


@cache
def _client() -> "redis.Redis":
    return redis.Redis.from_url(
        settings.REDIS_URL,
        decode_responses=True,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


def claim(key: str, for_s: float) -> bool:
    """Whether this caller is the first within that time. Raises `SharingDown`."""
    answer = _ask(lambda client: client.set(PREFIX + key, "1", nx=True, px=max(1, int(for_s * 1000))))
    return answer is not None


def hold(key: str, for_s: float) -> None:
    """Let nobody claim the key for so long from now. Raises `SharingDown`."""
    _ask(lambda client: client.set(PREFIX + key, "1", px=max(1, int(for_s * 1000))))


def keep(key: str, value: Any, for_s: int) -> None:
    """Keep a value that JSON can hold. Raises `SharingDown`."""
    text = json.dumps(value, default=str)
    _ask(lambda client: client.set(PREFIX + key, text, ex=for_s))


def read(key: str) -> Any:
    """The value kept; None where there is none. Raises `SharingDown`."""
    text: Any = _ask(lambda client: client.get(PREFIX + key))
    return json.loads(text) if text else None


def append(values: dict[str, Any], for_s: int) -> None:
    """Add one value to the end of each list named. Raises `SharingDown`."""

    def write(client: "redis.Redis") -> None:
        with client.pipeline(transaction=False) as pipe:
            for key, value in values.items():
                pipe.rpush(PREFIX + key, json.dumps(value, default=str))
                pipe.expire(PREFIX + key, for_s)
            pipe.execute()

    _ask(write)


def lists(keys: Iterable[str]) -> list[list[Any]]:
    """The lists kept under the keys, in that order. Raises `SharingDown`."""

    def fetch(client: "redis.Redis") -> list[list[str]]:
        with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.lrange(PREFIX + key, 0, -1)
            answers: list[list[str]] = pipe.execute()
            return answers

    return [[json.loads(text) for text in texts] for texts in _ask(fetch)]


def _ask(what: Callable[["redis.Redis"], T]) -> T:
    if time.monotonic() < _Rest.until:
        raise SharingDown("redis did not answer a moment ago")
    try:
        return what(_client())
    except (redis.RedisError, OSError) as error:
        _Rest.until = time.monotonic() + REST_S
        logger.info("monitoring does without Redis: %s", error)
        raise SharingDown(str(error)) from error
