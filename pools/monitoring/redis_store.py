"""Short-lived values in Redis that the panel's processes share about poolers, and locks for refreshing them."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

import redis
from redis.exceptions import LockError
from redis.lock import Lock

from core.lib import redis_client
from core.lib.redis_client import Breaker

logger = logging.getLogger(__name__)
T = TypeVar("T")

PREFIX = "pooldeck:monitoring:"
LEASE_S, RENEWED_EVERY_S = 6.0, 2.0
MOST_BYTES = 1_000_000  # of a batch that waits: it has to be sent within the time-out of Redis


class SharingDown(Exception):
    """Redis can't be reached: each process is on its own."""


_breaker = Breaker()


def claim_or_read(key: str, for_s: float, other: str) -> tuple[bool, Any]:
    """Return whether this caller is the first within that time, and the value stored under the other key, as `read`.

    Both in one round trip. Raises `SharingDown`.
    """

    def ask(client: "redis.Redis") -> list[Any]:
        with client.pipeline(transaction=False) as pipe:
            pipe.set(PREFIX + key, "1", nx=True, px=max(1, int(for_s * 1000)))
            pipe.get(PREFIX + other)
            answers: list[Any] = pipe.execute()
            return answers

    claimed, text = _ask(ask)
    return claimed is not None, json.loads(text) if text else None


def claim(key: str, for_s: float) -> bool:
    """Return whether this caller is the first within that time. Raises `SharingDown`."""
    answer = _ask(lambda client: client.set(PREFIX + key, "1", nx=True, px=max(1, int(for_s * 1000))))
    return answer is not None


def hold(key: str, for_s: float) -> None:
    """Block claims of the key for so long from now. Raises `SharingDown`."""
    _ask(lambda client: client.set(PREFIX + key, "1", px=max(1, int(for_s * 1000))))


def is_held(key: str) -> bool:
    """Return whether claims of the key are blocked now. Raises `SharingDown`."""
    return bool(_ask(lambda client: client.exists(PREFIX + key)))


@contextmanager
def exclusive(key: str, most_s: float) -> Iterator[bool]:
    """Yield whether no other process is within this block; True without Redis.

    A process that died blocks it for `LEASE_S` more, one that hangs for `most_s` and those.
    """
    lease = redis_client.shared().lock(PREFIX + key, LEASE_S, blocking=False, thread_local=False)
    try:
        is_first = is_leased = _ask(lambda _client: lease.acquire())
    except SharingDown:
        is_first, is_leased = True, False
    with _renewed(lease, most_s) if is_leased else nullcontext():
        yield is_first


@contextmanager
def _renewed(lease: Lock, most_s: float) -> Iterator[None]:
    """Renew the lease while the block lasts, `most_s` at the longest, then give it back."""
    over = Event()
    renewal = Thread(target=_renew, args=(lease, most_s, over), name="lease", daemon=True)
    renewal.start()
    try:
        yield
    finally:
        over.set()
        renewal.join()
        with suppress(SharingDown):
            _ask(lambda _client: _while_owned(lease.release))


def _renew(lease: Lock, most_s: float, over: Event) -> None:
    ends_at = time.monotonic() + most_s
    while not over.wait(RENEWED_EVERY_S) and time.monotonic() < ends_at:
        with suppress(SharingDown):
            _ask(lambda _client: _while_owned(lease.reacquire))


def _while_owned(step: Callable[[], object]) -> None:
    """Take a step of a lease, unless it ran out: that is no fault of Redis."""
    with suppress(LockError):
        step()


def keep(key: str, value: object, for_s: int) -> None:
    """Store a value that JSON can represent. Raises `SharingDown`."""
    text = json.dumps(value, default=str)
    _ask(lambda client: client.set(PREFIX + key, text, ex=for_s))


def read(key: str) -> Any:  # noqa: ANN401 (JSON; who asks knows what was kept)
    """Return the stored value, None where there is none. Raises `SharingDown`."""
    text: Any = _ask(lambda client: client.get(PREFIX + key))
    return json.loads(text) if text else None


def keep_and_hold(values: Mapping[str, object], for_s: int, *, held: str, held_s: float) -> None:
    """Store values by key as `keep` does (`bytes` as they are) and block claims as `hold` does, in one round trip.

    Raises `SharingDown`.
    """
    _write([_Values.of(values, for_s, held, held_s)])


class _Values(NamedTuple):
    """Values to store by key, for how long, and the claim to block."""

    packed: dict[str, str | bytes]
    for_s: int
    held: str
    held_s: float

    @classmethod
    def of(cls, values: Mapping[str, object], for_s: int, held: str, held_s: float) -> "_Values":
        packed = {key: one if isinstance(one, bytes) else json.dumps(one, default=str) for key, one in values.items()}
        return cls(packed, for_s, held, held_s)

    @property
    def size(self) -> int:
        return sum(map(len, self.packed.values()))


class Batch:
    """What many threads store as `keep_and_hold` does, by a round trip for many of them and not for each.

    It waits for `flush`, or until it is large; after `end` each is stored at once. All of them raise `SharingDown`.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._waiting: list[_Values] = []
        self._size, self._is_over = 0, False

    def keep_and_hold(self, values: Mapping[str, object], for_s: int, *, held: str, held_s: float) -> None:
        """Store these with the next `flush`."""
        one = _Values.of(values, for_s, held, held_s)
        with self._changing:
            self._waiting.append(one)
            self._size += one.size
            is_due = self._is_over or self._size > MOST_BYTES
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Store what waits."""
        with self._changing:
            due, self._waiting, self._size = self._waiting, [], 0
        if due:
            _write(due)

    def end(self) -> None:
        """Store what waits, and at once whatever else comes."""
        with self._changing:
            self._is_over = True
        self.flush()


def _write(kept: Iterable[_Values]) -> None:
    def write(client: "redis.Redis") -> None:
        with client.pipeline(transaction=False) as pipe:
            for one in kept:
                for key, value in one.packed.items():
                    pipe.set(PREFIX + key, value, ex=one.for_s)
                pipe.set(PREFIX + one.held, "1", px=max(1, int(one.held_s * 1000)))
            pipe.execute()

    _ask(write)


def keep_bytes(key: str, value: bytes, for_s: int) -> None:
    """Store bytes as they are. Raises `SharingDown`."""
    _ask(lambda client: client.set(PREFIX + key, value, ex=for_s))


def read_bytes(keys: Iterable[str]) -> list[bytes | None]:
    """Return the bytes stored under the keys, in that order; None where there are none. Raises `SharingDown`."""
    names = [PREFIX + key for key in keys]
    found: Any = _ask(lambda client: client.mget(names)) if names else []
    return list(found)


def append(values: Mapping[str, object], for_s: int) -> None:
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
