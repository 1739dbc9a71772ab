"""Requests that wait (`?wait=`): the view answers at once, and its answer is held back until the record has settled.

No thread and no session of the database belongs to a request that waits. One thread looks at what they all wait for,
and whether their callers may still wait.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import Error, connections
from django.http import HttpRequest
from django.utils.translation import gettext as _
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts import credentials, held_requests
from core.accounts.credentials import Credential, Grants
from core.lib import draining

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 0.5
REVIEW_EVERY_S = 0.25
STARTS_WITHIN_S = 60.0  # for what the view does before the wait begins

logger = logging.getLogger(__name__)


class _Review:
    """How the callers of all waits stand, looked up for all of them at once.

    A look-up for each wait took three queries of the thread that they share: the last of 80 waits of a busy machine
    then ended seconds after its token.
    """

    def __init__(self) -> None:
        self._at, self._asked = -REVIEW_EVERY_S, set[Credential]()
        self._found: dict[Credential, Grants] = {}

    def grants_of(self, credential: Credential) -> Grants | None:
        """Return how its holder stood at the last review, which is made here if it is due; None: it had ended."""
        if time.monotonic() - self._at >= REVIEW_EVERY_S or credential not in self._asked:
            self._asked = held_requests.credentials_of_waits() | {credential}
            self._found = credentials.granted(self._asked)
            self._at = time.monotonic()
        return self._found.get(credential)


_review = _Review()
_checks = ThreadPoolExecutor(1, thread_name_prefix="waits")


@dataclass
class Wait:
    """A request that wants to wait for `seconds`, from when the view knows what for."""

    credential: Credential
    grants: Grants
    seconds: float
    key: object
    is_settled: Callable[[], bool] | None = None
    answer: Callable[[], object] | None = None
    refusal_now: Callable[[], Exception | None] | None = None
    refusal: Exception | None = None  # what the caller is answered with, once the access ended

    @classmethod
    def begin(cls, request: Request, seconds: float) -> "Wait":
        """Count the request as open. Raises `TooManyHeld`; call it before anything is saved."""
        credential, counts_until = Credential.of(request), time.monotonic() + STARTS_WITHIN_S + seconds
        held = held_requests.OpenRequest(credential, is_wait=True, counts_until=counts_until)
        return cls(credential, Grants.of(request), seconds, held_requests.enter(held))

    def until(
        self,
        is_settled: Callable[[], bool],
        answer: Callable[[], object],
        refusal_now: Callable[[], Exception | None],
    ) -> None:
        """Hold the answer back until the record is settled; what `answer` returns is then the body.

        `refusal_now` is asked whenever the caller stands otherwise than before.
        """
        self.is_settled, self.answer, self.refusal_now = is_settled, answer, refusal_now

    def leave(self) -> None:
        """Count the request as closed; idempotent."""
        held_requests.leave(self.key)
        if not held_requests.any_waits():
            _checks.submit(connections.close_all)


@dataclass(frozen=True)
class HeldBack:
    """A response that the server is to hold back until `settled` returns; it is the response's `held_back`.

    `answer` then returns the request, as its caller stands now, and the response.
    """

    request: HttpRequest
    wait: Wait
    answer: Callable[[], tuple[HttpRequest, Response]]

    async def settled(self) -> None:
        """Return when `settled` does; one thread looks at what all these requests wait for."""
        await settled(self.wait, sync_to_async(is_over, thread_sensitive=False, executor=_checks))


def can_be_held_back(request: HttpRequest) -> bool:
    """Tell whether the server of this request holds back what is returned to it (`panel.web.handler`)."""
    return bool(getattr(request, "holds_back", False))


async def settled(wait: Wait, check: Callable[[Wait], Awaitable[bool]]) -> None:
    """Return once the record is settled, its time is over, this process ends, or the caller's access has ended.

    A token that is revoked, a session that is logged out and a role that is taken end the wait within a second, with
    the `refusal` of the wait.
    """
    deadline, pause = time.monotonic() + wait.seconds, FIRST_PAUSE_S
    while True:
        is_over = await check(wait)
        if is_over or draining.has_begun() or (seconds_left := deadline - time.monotonic()) <= 0:
            return
        await _pause(min(pause, seconds_left))
        pause = min(pause * 1.2, LONGEST_PAUSE_S)


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds)


def is_over(wait: Wait) -> bool:
    """Tell whether the record is settled or the caller's access has ended; neither is known without the database."""
    try:
        wait.refusal = _refusal(wait)
        return wait.refusal is not None or wait.is_settled is None or wait.is_settled()
    except Error as error:
        logger.warning("can't look what a request waits for: %s", error)
        connections.close_all()
        return False


def _refusal(wait: Wait) -> Exception | None:
    grants = _review.grants_of(wait.credential)
    if grants is None:
        return AuthenticationFailed(_("the token is unknown, expired or revoked"))
    if grants == wait.grants or wait.refusal_now is None:
        return None
    refusal = wait.refusal_now()
    wait.grants = grants
    return refusal
