"""A request that is sent twice starts its run once: its key, an Idempotency-Key or a form's, finds what it started."""

import hashlib
import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import redis
from django.core.cache import cache
from django.db import IntegrityError

from benchmarks.errors import BenchmarksError, IllegalTransition, InvalidFields, QueueDown
from benchmarks.models import Run

HEADER = "Idempotency-Key"
KEY_CHARACTERS = 200
KEPT_S = 24 * 3600
WORKED_ON_S = 30  # then whoever began is taken for dead; were it only slow, the id still lets one run be saved
WAITED_S, POLL_EVERY_S = 3.0, 0.1
TRIES = 3

Begin = Callable[[uuid.UUID | None], Run]


class InvalidKey(InvalidFields):
    """The header is no key."""


class KeyReused(BenchmarksError):
    """The key came with another body before."""

    status = 422


class Claim(NamedTuple):
    """What a key stands for: the digest of its body, the id that its run gets, and since when (Unix time)."""

    digest: str
    run_id: uuid.UUID
    since: float


def start(key: str | None, author: Any, body: Any, begin: Begin, kept_s: int = KEPT_S) -> tuple[Run, bool]:
    """The run that `begin` starts under the id given to it, and whether an earlier request started it.

    A key is its author's own and is kept in the cache, as digests of it and of the body. The id is chosen
    before the run is begun: however the request ends, and whether or not it is told, the next one finds the run or
    may begin it. What was refused frees its key. Raises `InvalidKey`, `KeyReused`, `IllegalTransition` while the
    first request is at work, `QueueDown` with nothing saved, and whatever `begin` raises.
    """
    if key is None:
        return begin(None), False
    name, mine = _name(key, author), Claim(digest(body), uuid.uuid4(), time.time())
    held = _held(name, mine, kept_s)
    if held.digest != mine.digest:
        raise KeyReused("this Idempotency-Key came with another body before: use a new key for another run")
    if held.run_id != mine.run_id:
        if earlier := _awaited(held.run_id):
            return earlier, True
        if mine.since - held.since < WORKED_ON_S:
            raise IllegalTransition("the same request, sent before, is at work: ask again in a second")
    return _begin(name, held.run_id, begin)


def _awaited(run_id: uuid.UUID) -> Run | None:
    """The run of the first request, which may be at work this very moment; None where it takes longer."""
    deadline = time.monotonic() + WAITED_S
    while (run := Run.objects.filter(pk=run_id).first()) is None and time.monotonic() < deadline:
        _pause()
    return run


def _pause() -> None:
    time.sleep(POLL_EVERY_S)


def _begin(name: str, run_id: uuid.UUID, begin: Begin) -> tuple[Run, bool]:
    try:
        return begin(run_id), False
    except IntegrityError:  # another took up the same abandoned claim: the id lets only one of them save its run
        if earlier := Run.objects.filter(pk=run_id).first():
            return earlier, True
        raise
    except Exception:
        with suppress(redis.RedisError, OSError):
            cache.delete(name)
        raise


def _held(name: str, mine: Claim, kept_s: int) -> Claim:
    """The claim in force: mine where the key is new, else that of the first request."""
    try:
        for _ in range(TRIES):  # one that is refused frees the key between the two looks
            if cache.add(name, tuple(mine), kept_s):
                return mine
            if found := cache.get(name):
                return Claim(*found)
    except (redis.RedisError, OSError) as error:
        raise QueueDown("redis can't be reached, so no run can be started; nothing was saved: try again") from error
    raise IllegalTransition("other requests with this Idempotency-Key come and go: ask again in a second")


def _name(key: str, author: Any) -> str:
    if not (0 < len(key) <= KEY_CHARACTERS and key.isascii() and key.isprintable()):
        raise InvalidKey({HEADER: [f"{key[:40]!r} is no key: use 1 to {KEY_CHARACTERS} printable ASCII characters"]})
    return f"once:{author.pk}:{hashlib.sha256(key.encode()).hexdigest()}"


def digest(body: Any) -> str:
    """The same for the same body, however its keys are ordered."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()
