"""Short-lived values in Redis that the panel's processes share about poolers, and locks for refreshing them."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import redis
from redis.exceptions import LockNotOwnedError
from redis.lock import Lock

from panel.lib import redis_client
from panel.lib.redis_client import Breaker

logger = logging.getLogger(__name__)
T = TypeVar("T")

PREFIX = "pooldeck:monitoring:"


class SharingDown(Exception):
    """Redis can't be reached: each process is on its own."""


_breaker = Breaker()


def claim(key: str, for_s: float) -> bool:
    """Return whether this caller is the first within that time. Raises `SharingDown`."""
    answer = _ask(lambda client: client.set(PREFIX + key, "1", nx=True, px=max(1, int(for_s * 1000))))
    return answer is not None


def hold(key: str, for_s: float) -> None:
    """Block claims of the key for so long from now. Raises `SharingDown`."""
    _ask(lambda client: client.set(PREFIX + key, "1", px=max(1, int(for_s * 1000))))


@contextmanager
def alone(key: str, most_s: float) -> Iterator[bool]:
    """Yield whether no other process is within this block; True without Redis. A lost process blocks it `most_s`."""
    lock = redis_client.shared().lock(PREFIX + key, timeout=most_s, blocking=False)
    try:
        is_first = _ask(lambda _client: lock.acquire())
    except SharingDown:
        yield True
        return
    try:
        yield is_first
    finally:
        if is_first:
            with suppress(SharingDown):
                _ask(lambda _client: _release(lock))


def _release(lock: Lock) -> None:
    with suppress(LockNotOwnedError):  # it took longer than it may, and another process is within the block
        lock.release()


def keep(key: str, value: Any, for_s: int) -> None:
    """Store a value that JSON can represent. Raises `SharingDown`."""
    text = json.dumps(value, default=str)
    _ask(lambda client: client.set(PREFIX + key, text, ex=for_s))


def read(key: str) -> Any:
    """Return the stored value, None where there is none. Raises `SharingDown`."""
    text: Any = _ask(lambda client: client.get(PREFIX + key))
    return json.loads(text) if text else None


def append(values: dict[str, Any], for_s: int) -> None:
    """Append one value to each list named. Raises `SharingDown`."""

    def write(client: "redis.Redis") -> None:
        with client.pipeline(transaction=False) as pipe:
            for key, value in values.items():
                pipe.rpush(PREFIX + key, json.dumps(value, default=str))
                pipe.expire(PREFIX + key, for_s)
            pipe.execute()

    _ask(write)


def lists(keys: Iterable[str]) -> list[list[Any]]:
    """Return the lists stored under the keys, in that order. Raises `SharingDown`."""

    def fetch(client: "redis.Redis") -> list[list[bytes]]:
        with client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.lrange(PREFIX + key, 0, -1)
            answers: list[list[bytes]] = pipe.execute()
            return answers

    return [[json.loads(text) for text in texts] for texts in _ask(fetch)]


def _ask(what: Callable[["redis.Redis"], T]) -> T:
    if _breaker.is_open:
        raise SharingDown("redis did not answer a moment ago")
    try:
        answer = what(redis_client.shared())
    except redis_client.ERRORS as error:
        _breaker.trip()
        logger.info("monitoring continues without Redis: %s", error)
        raise SharingDown(str(error)) from error
    _breaker.reset()
    return answer
