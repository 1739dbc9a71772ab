"""Idempotent run creation: an `Idempotency-Key` (or the form's token) maps to the run it created, for 24 h."""

import hashlib
import json
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import redis
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import IntegrityError
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError, IllegalTransition, InvalidFields, QueueDown
from benchmarks.models import Run

HEADER = "Idempotency-Key"
KEY_CHARACTERS = 200
KEPT_S = 24 * 3600
WORKED_ON_S = 30  # then the first request counts as dead; if it was only slow, the id still lets only one run be saved
WAITED_S, POLL_EVERY_S = 3.0, 0.1
TRIES = 3

Begin = Callable[[uuid.UUID | None], Run]


class InvalidKey(InvalidFields):
    """A header that is not a key."""


class KeyReused(BenchmarksError):
    """A key that was used with another body."""

    status = 422


class Claim(NamedTuple):
    """The value of a key: the digest of its body, the id of its run, and the Unix time of the claim."""

    digest: str
    run_id: uuid.UUID
    since: float


def start(key: str | None, author: User, body: object, begin: Begin, kept_s: int = KEPT_S) -> tuple[Run, bool]:
    """Return the run that `begin` creates under the given id, and whether an earlier request created it.

    A key belongs to its author, and is cached as digests of key and body. The id is chosen before the run is created,
    so that the next request finds the run or may create it, however the first one ended. A refused request frees its
    key. Raises `InvalidKey`, `KeyReused`, `IllegalTransition` while the first request is being handled, `QueueDown`
    with nothing saved, and whatever `begin` raises.
    """
    if key is None:
        return begin(None), False
    name, own = _name(key, author), Claim(digest(body), uuid.uuid4(), time.time())
    in_force = _claim_in_force(name, own, kept_s)
    if in_force.digest != own.digest:
        raise KeyReused(_("this Idempotency-Key was used with another body before: use a new key for another run"))
    if in_force.run_id != own.run_id:
        if earlier := _run_of_first_request(in_force.run_id):
            return earlier, True
        if own.since - in_force.since < WORKED_ON_S:
            raise IllegalTransition(_("the same request, sent before, is still being handled: try again in a second"))
    return _begin(name, in_force.run_id, begin)


def _run_of_first_request(run_id: uuid.UUID) -> Run | None:
    """Wait briefly for the run of the first request, which may be in progress; None where it takes longer."""
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


def _claim_in_force(name: str, own: Claim, kept_s: int) -> Claim:
    """Return the claim in force: ours where the key is new, else that of the first request."""
    try:
        for _nth in range(TRIES):  # a refused request frees the key between the two commands
            if cache.add(name, tuple(own), kept_s):
                return own
            if stored := cache.get(name):
                return Claim(*stored)
    except (redis.RedisError, OSError) as error:
        raise QueueDown(_("redis can't be reached, so no run can be started; nothing was saved: try again")) from error
    raise IllegalTransition(_("other requests with this Idempotency-Key are being handled: try again in a second"))


def _name(key: str, author: User) -> str:
    if not (0 < len(key) <= KEY_CHARACTERS and key.isascii() and key.isprintable()):
        raise InvalidKey(
            {
                HEADER: [
                    _("%(key)s is not a key: use 1 to %(most)s printable ASCII characters")
                    % {"key": repr(key[:40]), "most": KEY_CHARACTERS}
                ]
            }
        )
    return f"once:{author.pk}:{hashlib.sha256(key.encode()).hexdigest()}"


def digest(body: object) -> str:
    """Return the same digest for the same body, in whatever order its keys are."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()
