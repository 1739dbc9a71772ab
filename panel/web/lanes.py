"""The threads that serve requests, and the bounded queues before them: beyond its capacity a process refuses.

Health, sign-in and static files have threads of their own and are never refused, so that an orchestrator does not kill
a busy process, and people can log in and look what makes it busy.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import ParamSpec, TypeVar, cast

from django.conf import settings

from panel.error_pages import MANAGED
from panel.web.threads import Threads

Words = ParamSpec("Words")
Found = TypeVar("Found")

# A queue that was empty lately is a burst, and all of it is served. In one that is never empty each request would wait
# as long as it may: after a burst's time they wait a shorter one, so that who is served is served soon ("controlled
# delay" in Maurer, Fail at Scale, ACM Queue 2015).
BURST_WITHIN_S = 5.0
BUSY_WITHIN_S = 0.5
CHANGE_WITHIN_S = 20.0  # A change under /v2/ is answered once it is applied: its client waits for many seconds anyway.
SPARED = ("/healthz/", "/login/", "/first-admin/", "/logout/")
SPARED_THREADS = 2


class Overloaded(Exception):
    """There is no place for a request, or there was none in time; nothing was done for it."""


class Lane:
    """Places in threads; without `queue` requests wait for one as long as it takes, else so many, and not for long."""

    def __init__(self, threads: Threads, places: int, queue: int | None = None, within_s: float | None = None) -> None:
        self._threads, self._within_s = threads, within_s or BURST_WITHIN_S
        self._places = asyncio.Semaphore(places)
        self._queue, self._waiting = queue, 0
        self._was_empty_at = 0.0

    async def call(self, work: Callable[Words, Found], *words: Words.args, **named: Words.kwargs) -> Found:
        """Return what the function returns in one of the threads. Raises `Overloaded`."""
        within_s = None if self._queue is None else self._longest_wait_s()
        within_s = await self._enter(within_s)
        future = cast("Future[Found]", self._threads.submit(partial(work, *words, **named)))
        working = asyncio.wrap_future(future)
        working.add_done_callback(lambda _done: self._places.release())  # also if nobody waits for it any more
        try:
            await asyncio.wait({working}, timeout=within_s)
        except asyncio.CancelledError:
            future.cancel()
            raise
        if not working.done() and future.cancel():
            raise Overloaded
        return await asyncio.shield(working)

    async def _enter(self, within_s: float | None) -> float | None:
        """Wait for a place; return how long the request may still wait for a thread."""
        if within_s is None or not self._places.locked():
            await self._places.acquire()
            return within_s
        if self._waiting >= (self._queue or 0):
            raise Overloaded
        until = asyncio.get_running_loop().time() + within_s
        self._waiting += 1
        try:
            async with asyncio.timeout_at(until):
                await self._places.acquire()
        except TimeoutError:
            raise Overloaded from None
        finally:
            self._waiting -= 1
        return max(0.0, until - asyncio.get_running_loop().time())

    def _longest_wait_s(self) -> float:
        """Return how long a request that comes now may wait."""
        now = asyncio.get_running_loop().time()
        if not self._waiting:
            self._was_empty_at = now
        return self._within_s if now - self._was_empty_at < BURST_WITHIN_S else BUSY_WITHIN_S


class Lanes:
    """The lane of each request, by its path."""

    def __init__(self) -> None:
        threads = Threads("request", settings.WEB_THREADS + settings.WAITS)
        self._usual = Lane(threads, settings.WEB_THREADS, settings.WEB_QUEUE)
        self._spared = _apart("spared", SPARED_THREADS)
        # a change under /v2/ occupies its thread until it is applied: as many as may wait, apart from the others
        self._managed = Lane(threads, settings.WAITS, settings.WEB_QUEUE, CHANGE_WITHIN_S)
        self.finishing = _apart("finishing", 1)  # answers to what was done already, which can't be refused any more
        self._prefixes = (*SPARED, settings.STATIC_URL)

    def of(self, path: str) -> Lane:
        """Return the lane."""
        if path.startswith(MANAGED):
            return self._managed
        return self._spared if path.startswith(self._prefixes) else self._usual


def _apart(name: str, threads: int) -> Lane:
    """Return a lane of so many threads, which wait for none of the others."""
    return Lane(Threads(name, threads, threads), threads)
