"""The open event streams of this process, and the review that ends those whose callers may follow them no more.

One look-up every `REVIEW_EVERY_S` serves all of them: a query for each stream would cost a process with hundreds more
than the streams themselves. A stream is authorized again only where its caller stands otherwise than before, or one of
the caller's teams has fewer records than before: a share was withdrawn, or a record moved to another team.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID

from django.db import Error, connections

from core.accounts import credentials
from core.accounts.credentials import Credential, Grants
from core.lib import draining

logger = logging.getLogger(__name__)
REVIEW_EVERY_S = 0.4


@dataclass(eq=False)
class OpenStream:
    """A stream that counts as open: by which credential, how its holder stood, and how to authorize it again."""

    credential: Credential
    grants: Grants | None
    is_still_allowed: Callable[[], Awaitable[bool]]
    is_over: bool = False
    _end: "asyncio.Future[None] | None" = field(default=None, init=False)

    def begin(self) -> "asyncio.Future[None]":
        """Return what is done once the stream is over; called in the event loop that sends it."""
        self._end = asyncio.get_running_loop().create_future()
        _begin_review()
        return self._end

    def end(self) -> None:
        """Let the stream end at once; idempotent."""
        self.is_over = True
        if self._end is not None:
            with suppress(RuntimeError):  # its event loop was closed before
                self._end.get_loop().call_soon_threadsafe(self._set_ended)

    def _set_ended(self) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(None)


_open: dict[object, OpenStream] = {}  # each change of it is one atomic operation: threads and the event loop make them
_reviews: set["asyncio.Task[None]"] = set()  # the task of each event loop that reviews while streams are open
_again: set["asyncio.Task[None]"] = set()  # those that authorize a stream again
_had: dict[tuple[UUID, str], int] = {}  # how many records of each kind the teams had at the last look
_thread = ThreadPoolExecutor(1, thread_name_prefix="stream-review")  # keeps its session while streams are open


def add(key: object, stream: OpenStream) -> None:
    """Count a stream as open."""
    _open[key] = stream


def remove(key: object) -> None:
    """Count it as closed; idempotent."""
    _open.pop(key, None)


def _begin_review() -> None:
    if not any(review.get_loop() is asyncio.get_running_loop() for review in _reviews):
        review = asyncio.create_task(_review())
        _reviews.add(review)
        review.add_done_callback(_reviews.discard)


async def _review() -> None:
    """Review all streams at once, again and again, until none is open."""
    try:
        while _open:
            await asyncio.sleep(REVIEW_EVERY_S)
            await _review_once()
    finally:
        with suppress(RuntimeError):  # the process ends
            _thread.submit(connections.close_all)


async def _review_once() -> None:
    """End the streams of ended credentials, and authorize those again whose callers stand otherwise than before."""
    streams = list(_open.values())
    if draining.has_begun():  # their viewers open them again, at another process or at this one's successor
        for stream in streams:
            stream.end()
    held = {stream.credential for stream in streams}
    found = await asyncio.get_running_loop().run_in_executor(_thread, _query, held)
    if found is None:
        return
    granted, robbed = found
    for stream in streams:
        grants = granted.get(stream.credential)
        if grants is None:
            stream.end()
        elif grants != stream.grants or robbed & _teams_of(grants):
            stream.grants = grants
            task = asyncio.create_task(_authorize_again(stream))
            _again.add(task)
            task.add_done_callback(_again.discard)


def _query(held: set[Credential]) -> tuple[dict[Credential, Grants], set[UUID]] | None:
    """Return how the holders stand, and those of their teams that lost a record; None while the database is away."""
    try:
        found = credentials.granted(held)
        return found, _that_lost(set().union(*map(_teams_of, found.values())))
    except Error as error:
        logger.warning("can't check the credentials of event streams: %s", error)
        connections.close_all()
        return None


def _teams_of(grants: Grants) -> set[UUID]:
    return set() if grants.is_admin else {team for team, _role in grants.roles}


def _that_lost(teams: set[UUID]) -> set[UUID]:
    """Return the teams that have fewer records of a kind than at the last look, where they were looked at."""
    had = dict(_had)
    _had.clear()
    _had.update(credentials.records_of(teams))
    return {team for (team, kind), count in had.items() if team in teams and _had.get((team, kind), 0) < count}


async def _authorize_again(stream: OpenStream) -> None:
    try:
        if not await stream.is_still_allowed():
            stream.end()
    except Error as error:
        logger.warning("can't authorize an event stream again: %s", error)
        stream.grants = None  # which the next review finds changed
