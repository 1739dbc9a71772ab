"""Threads of which two compute at once: those of one interpreter that compute at once hinder each other.

One that waits (for a console, a server, a lock or a program) uses no processor, which is measured rather than declared:
waits lie in too many places, and in libraries. It lets the next request in meanwhile, as Go's scheduler takes the
processor from a goroutine that blocks in a system call. Once it computes again it counts again, without having to wait
for that: it may hold what others wait for.

A thread that has done its work takes the next itself. The event loop would have to get a processor and the interpreter
first, and on a busy machine the threads would idle until then.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

AT_ONCE = 2  # Decision 16 has the figures.
CHECK_EVERY_S = 0.05
LONG_ENOUGH_S = 0.045  # What had no processor for a shorter time does not wait.
COMPUTES_ABOVE_S = 0.001  # What computes gets more in this time, even on a machine with ten times too much to do.


class Work:
    """A call for a thread; whether it computes, as far as the processor time of its thread tells."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.found: Future[object] = Future()
        self.computes = True
        self._call = call
        self._clock: int | None = None  # of its thread, once that has begun
        self._used_s, self._checked_at = 0.0, 0.0

    def run(self) -> None:
        """Call it in this thread, unless nobody wants it any more."""
        if not self.found.set_running_or_notify_cancel():
            return
        self._used_s, self._checked_at = time.thread_time(), time.monotonic()
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            found = self._call()
        except BaseException as error:  # noqa: BLE001 (who asked for it gets it)
            self.found.set_exception(error)
        else:
            self.found.set_result(found)

    def is_computing(self) -> bool:
        """Tell whether its thread used a processor since the last check."""
        now = time.monotonic()
        if self._clock is None or now - self._checked_at < LONG_ENOUGH_S:
            return self.computes
        before_s, self._used_s, self._checked_at = self._used_s, time.clock_gettime(self._clock), now
        return self._used_s - before_s > COMPUTES_ABOVE_S


class Threads:
    """As many threads as work needs that waits, at most `most`; those who came first are served first."""

    def __init__(self, name: str, most: int, at_once: int = AT_ONCE) -> None:
        self._threads = ThreadPoolExecutor(most, thread_name_prefix=name)
        self._changing = threading.Lock()  # what follows
        self._left = at_once  # below zero while some that waited compute beside others
        self._queue: deque[Work] = deque()
        self._begun: set[Work] = set()
        self._next_check: asyncio.TimerHandle | None = None

    def submit(self, call: Callable[[], object]) -> "Future[object]":
        """Return what the call will return; it can be cancelled until it begins. Call it in an event loop."""
        work = Work(call)
        with self._changing:
            self._queue.append(work)
            begins = self._next()
        if begins:
            self._threads.submit(self._serve, begins)
        elif self._next_check is None:
            self._check()
        return work.found

    def _next(self) -> Work | None:
        """Take what may begin now from the queue."""
        while self._queue and (self._left > 0 or self._queue[0].found.cancelled()):
            work = self._queue.popleft()
            if not work.found.cancelled():
                self._left -= 1
                self._begun.add(work)
                return work
        return None

    def _serve(self, work: Work | None) -> None:
        """Do the work, and what is next, until there is none."""
        while work:
            work.run()
            with self._changing:
                self._begun.discard(work)
                self._left += work.computes
                work = self._next()

    def _check(self) -> None:
        """Let others in for those that wait; as long as anything is queued."""
        with self._changing:
            for work in self._begun:
                computes = work.is_computing()
                self._left += work.computes - computes
                work.computes = computes
            begin = [*iter(self._next, None)]
            is_queued = bool(self._queue)
        for work in begin:
            self._threads.submit(self._serve, work)
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(CHECK_EVERY_S, self._check) if is_queued else None
