"""The threads that serve requests, and the bounded queues before them: beyond its capacity a process refuses.

Health, sign-in and static files have threads of their own and are never refused, so that an orchestrator does not kill
a busy process, and people can log in and look what makes it busy.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.conf import settings

from panel.error_pages import MANAGED
from panel.web.permits import Permits, Request

Words = ParamSpec("Words")
Found = TypeVar("Found")

# A queue that was empty lately is a burst, and all of it is served. In one that is never empty each request would wait
# as long as it may: after a burst's time they wait a shorter one, so that who is served is served soon ("controlled
# delay" in Maurer, Fail at Scale, ACM Queue 2015).
BURST_WITHIN_S = 5.0
BUSY_WITHIN_S = 0.5
SPARED = ("/healthz/", "/login/", "/first-admin/", "/logout/")
SPARED_THREADS = 2


class Overloaded(Exception):
    """There is no place for a request, or there was none in time; nothing was done for it."""


class Lane:
    """A few threads; without `queue` requests wait for one as long as it takes, else so many, and not for long."""

    def __init__(self, name: str, threads: int, queue: int | None = None, permits: Permits | None = None) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._places = asyncio.Semaphore(threads)
        self._permits = permits or Permits(threads)
        self._queue, self._waiting = queue, 0
        self._was_empty_at = 0.0

    async def call(self, work: Callable[Words, Found], *words: Words.args, **named: Words.kwargs) -> Found:
        """Return what the function returns in one of the threads. Raises `Overloaded`."""
        request = await self._admitted()
        loop = asyncio.get_running_loop()

        def run() -> Found:
            with request.in_thread():
                return work(*words, **named)

        working = loop.run_in_executor(self._threads, run)
        working.add_done_callback(lambda _done: self._leave(request))  # also if nobody waits for it any more
        return await asyncio.shield(working)

    async def _admitted(self) -> Request:
        """Wait for a free thread and a permit to compute."""
        if self._queue is None or (not self._waiting and self._is_free):
            return await self._enter()
        if self._waiting >= self._queue:
            raise Overloaded
        within_s = self._longest_wait_s()
        self._waiting += 1
        try:
            async with asyncio.timeout(within_s):
                return await self._enter()
        except TimeoutError:
            raise Overloaded from None
        finally:
            self._waiting -= 1

    @property
    def _is_free(self) -> bool:
        return not self._places.locked() and self._permits.has_any

    async def _enter(self) -> Request:
        await self._places.acquire()
        try:
            return await self._permits.admit()
        except BaseException:
            self._places.release()
            raise

    def _leave(self, request: Request) -> None:
        request.leave()
        self._places.release()

    def _longest_wait_s(self) -> float:
        """Return how long a request that comes now may wait."""
        now = asyncio.get_running_loop().time()
        if not self._waiting:
            self._was_empty_at = now
        return BURST_WITHIN_S if now - self._was_empty_at < BURST_WITHIN_S else BUSY_WITHIN_S


class Lanes:
    """The lane of each request, by its path."""

    def __init__(self) -> None:
        permits = Permits()
        self._usual = Lane("request", settings.WEB_THREADS, settings.WEB_QUEUE, permits)
        self._spared = Lane("spared", SPARED_THREADS)
        # a change under /v2/ occupies its thread until it is applied: as many as may wait, apart from the others
        self._managed = Lane("managed", settings.WAITS, settings.WEB_QUEUE, permits)
        self.finishing = Lane("finishing", 1)  # answers to what was done already, which can't be refused any more
        self._prefixes = (*SPARED, settings.STATIC_URL)

    def of(self, path: str) -> Lane:
        """Return the lane."""
        if path.startswith(MANAGED):
            return self._managed
        return self._spared if path.startswith(self._prefixes) else self._usual
