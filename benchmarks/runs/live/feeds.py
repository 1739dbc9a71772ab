"""Feeds: what is new of each run that somebody follows, read once for all its viewers in this process.

A feed keeps the newest events alone, and a viewer has no queue but its place among them. One that reads too slowly to
be among them any more reads the database until it is, so it takes no memory and nobody waits for it.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from uuid import UUID

from django.db import Error

from benchmarks.models import Run
from benchmarks.runs.live import sources
from benchmarks.runs.live.events import BEGINNING, END_SEQ, Event, Position, State, position
from benchmarks.runs.live.sources import Snapshot, StreamReader

logger = logging.getLogger(__name__)
FIRST_EVENTS = 100  # read for the first viewer, who has those of the page already
KEPT_EVENTS = 500  # about a minute of a busy run
WITHOUT_REDIS_S = 0.5
WOKEN_AT_ONCE = 25  # viewers; then whatever else the process has to do gets its turn
_feeds: dict[str, "Feed"] = {}


@asynccontextmanager
async def following(run_id: UUID | str) -> AsyncIterator["Feed"]:
    """Yield the feed of a run, which is opened for the first viewer and closed after the last."""
    key = str(run_id)
    feed = _feeds.get(key)
    if feed is None or feed.is_over:
        feed = _feeds[key] = Feed(key)
    feed.viewers += 1
    try:
        yield feed
    finally:
        feed.viewers -= 1
        if not feed.viewers:
            if _feeds.get(key) is feed:
                del _feeds[key]
            feed.task.cancel()
            await asyncio.wait({feed.task})


class Feed:
    """The newest events of a run, and the task that reads them."""

    def __init__(self, run_id: str) -> None:
        self.viewers = 0
        self.state: State | None = None  # as the database had it when it was read last
        self.is_over = False
        self._since: Position | None = None  # all events after it are kept; None until there are some
        self._events: list[Event] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self.task = asyncio.create_task(self._run(run_id))

    def after(self, last: Position, at_most: int) -> list[Event] | None:
        """Return the oldest events after that place, none where none has come; None where some may not be kept."""
        if self._since is None:
            return []
        if last < self._since:
            return None
        first = bisect_right(self._events, last, key=lambda event: event.position)
        return self._events[first : first + at_most]

    @property
    def has_failed(self) -> bool:
        """Tell whether it ended before its run did."""
        return self.is_over and self._last[1] != END_SEQ

    async def changed(self, within_s: float) -> bool:
        """Wait until there is something new or the feed is over, so long at most; tell whether it is so."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=within_s)
            return bool(done)
        finally:
            self._waiting.discard(waiting)

    async def _run(self, run_id: str) -> None:
        try:
            async with aclosing(_read(run_id)) as news:
                async for known in news:
                    if self._take(known):
                        await self._wake()
        except Run.DoesNotExist:
            logger.info("run %s was removed: its event streams end", run_id)
        except Error as error:
            logger.warning("run %s: its event streams end, the database can't be read: %s", run_id, error)
        finally:
            self.is_over = True
            for waiting in self._waiting:
                _set_done(waiting)

    def _take(self, found: "Snapshot | list[Event]") -> bool:
        """Keep what was found; tell whether any of it is new."""
        if isinstance(found, list):
            self._keep(found)
            return True
        is_new = self._since is None or bool(found.events) or found.state != self.state
        if self._since is None or found.since > self._last:
            self._since, self._events = found.since, []
        if is_new:
            self.state = found.state
        self._keep(found.events)
        return is_new

    def _keep(self, events: list[Event]) -> None:
        self._events += events
        if len(self._events) > 2 * KEPT_EVENTS:
            self._since = self._events[-KEPT_EVENTS - 1].position
            del self._events[:-KEPT_EVENTS]

    @property
    def _last(self) -> Position:
        return self._events[-1].position if self._events else self._since or (0, 0)

    async def _wake(self) -> None:
        """Wake all that wait, a few at a time."""
        for number, waiting in enumerate(list(self._waiting), 1):
            _set_done(waiting)
            if not number % WOKEN_AT_ONCE:
                await asyncio.sleep(0)


async def _read(run_id: str) -> AsyncGenerator[Snapshot | list[Event], None]:
    """Yield what is known of the run, then its events as they come, until its end.

    What is known is read again where the stream has a gap (Redis was away) and whenever it is silent, so that an end
    that could not be published is seen too.
    """
    last, at_most, reader = BEGINNING, FIRST_EVENTS, StreamReader(run_id)
    try:
        while True:
            known = await sources.newest(run_id, last, at_most)
            yield known
            last, at_most = known.events[-1].id if known.events else last, KEPT_EVENTS
            while not _is_end(last) and (live := await reader.read(last)) and sources.has_no_gap(last, live):
                yield live
                last = live[-1].id
            if _is_end(last):
                return
            if live is None:
                await asyncio.sleep(WITHOUT_REDIS_S)
    finally:
        await reader.aclose()


def _is_end(id_: str) -> bool:
    return position(id_)[1] == END_SEQ


def _set_done(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
