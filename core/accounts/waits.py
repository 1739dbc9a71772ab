"""Requests that wait (`?wait=`): the view answers at once, and its answer is held back until the record has settled.

No thread and no session of the database belongs to a request that waits. One thread looks at what they all wait for,
and whether their callers may still wait.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import Error, connections

from core.accounts import credentials, event_streams, held_requests
from core.accounts.credentials import Credential
from core.lib import draining

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 0.5
REVIEW_EVERY_S = 0.25
STARTS_WITHIN_S = 60.0  # for what the view does before the wait begins

logger = logging.getLogger(__name__)


class _Review:
    """Which of the credentials of all waits have ended, looked up for all of them at once.

    A look-up for each wait took three queries of the thread that they share: the last of 80 waits of a busy machine
    then ended seconds after its token.
    """

    def __init__(self) -> None:
        self._at, self._ended = -REVIEW_EVERY_S, set[Credential]()

    def has_ended(self, credential: Credential) -> bool:
        """Tell whether it had ended at the last review, which is made here if it is due."""
        if time.monotonic() - self._at >= REVIEW_EVERY_S:
            self._ended = credentials.ended(held_requests.credentials_of_waits())
            self._at = time.monotonic()
        return credential in self._ended


_review = _Review()
_checks = ThreadPoolExecutor(1, thread_name_prefix="waits")


@dataclass
class Wait:
    """A request that wants to wait for `seconds`, from when the view knows what for."""

    credential: Credential
    seconds: float
    key: object
    is_settled: Callable[[], bool] | None = None
    answer: Callable[[], object] | None = None

    @classmethod
    def begin(cls, credential: Credential, seconds: float) -> "Wait":
        """Count the request as open. Raises `TooManyHeld`; call it before anything is saved."""
        counts_until = time.monotonic() + STARTS_WITHIN_S + seconds
        request = held_requests.OpenRequest(credential, is_wait=True, counts_until=counts_until)
        return cls(credential, seconds, held_requests.enter(request))

    def until(self, is_settled: Callable[[], bool], answer: Callable[[], object]) -> None:
        """Hold the answer back until the record is settled; what `answer` returns is then the body."""
        self.is_settled, self.answer = is_settled, answer

    def leave(self) -> None:
        """Count the request as closed; idempotent."""
        held_requests.leave(self.key)
        if not held_requests.any_waits():
            _checks.submit(connections.close_all)


async def settled(wait: Wait) -> bool:
    """Return once the record is settled, its time is over, or this process ends; False where the caller's access ended.

    A token that is revoked, or a session that is logged out, ends the wait within a second.
    """
    await event_streams.give_up_thread()
    deadline, pause = time.monotonic() + wait.seconds, FIRST_PAUSE_S
    while True:
        is_over, has_ended = await _ask(partial(_check, wait))
        if has_ended:
            return False
        if is_over or draining.has_begun() or (seconds_left := deadline - time.monotonic()) <= 0:
            return True
        await _pause(min(pause, seconds_left))
        pause = min(pause * 1.2, LONGEST_PAUSE_S)


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def _ask(check: Callable[[], tuple[bool, bool]]) -> tuple[bool, bool]:
    """Call it in the thread of all waits; a server without an event loop waits in its own thread, as it always does."""
    if SyncToAsync.thread_sensitive_context.get(None) is None:
        return await sync_to_async(check)()
    return await sync_to_async(check, thread_sensitive=False, executor=_checks)()


def _check(wait: Wait) -> tuple[bool, bool]:
    """Tell whether the record is settled, and whether the caller's access has ended.

    Neither is known while the database is away.
    """
    try:
        if _review.has_ended(wait.credential):
            return False, True
        return wait.is_settled is None or wait.is_settled(), False
    except Error as error:
        logger.warning("can't look what a request waits for: %s", error)
        connections.close_all()
        return False, False
