"""How many requests compute at once: two, since threads of one interpreter that compute at once hinder each other.

A request needs a permit to be let into a thread. One that waits (for a console, a server, a lock or a program) uses no
processor, which is measured rather than declared: waits lie in too many places, and in libraries. Its permit goes to
the next request meanwhile, as Go's scheduler takes the processor from a goroutine that blocks in a system call. Once it
computes again it counts again, without having to wait for a permit: it may hold what others wait for.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

AT_ONCE = 2  # decision 16 has the figures
CHECK_EVERY_S = 0.05
LONG_ENOUGH_S = (
    0.045  # between two looks at a request, so that one that had no processor for a moment is not taken to wait
)
COMPUTES_ABOVE_S = 0.001  # What computes gets more in this time, even on a machine with ten times too much to do


class Permits:
    """The permits of a process; all but `Request.in_thread` is called in its event loop."""

    def __init__(self, count: int = AT_ONCE) -> None:
        self._left = count  # below zero while some that waited compute beside others
        self._turns: deque[asyncio.Future[None]] = deque()
        self._inside: set[Request] = set()
        self._next_check: asyncio.TimerHandle | None = None

    @property
    def has_any(self) -> bool:
        """Tell whether the next request needs not wait for one."""
        return self._left > 0

    async def admit(self) -> "Request":
        """Wait for a permit; `Request.leave` gives it back. Those who came first get one first."""
        if self._left > 0:
            self._left -= 1
        else:
            await self._turn()
        request = Request(self)
        self._inside.add(request)
        return request

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        if self._next_check is None:
            self._check_who_waits()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came in the moment in which the request was given up
                self.give()
            raise

    def give(self) -> None:
        """Let the next request in, unless more compute than may."""
        self._left += 1
        while self._left > 0 and self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                self._left -= 1
                turn.set_result(None)

    def take(self) -> None:
        """Count one that computes again."""
        self._left -= 1

    def forget(self, request: "Request") -> None:
        """Check this request no more."""
        self._inside.discard(request)

    def _check_who_waits(self) -> None:
        """Give the permits of those that wait to others; as long as somebody wants one."""
        for request in self._inside:
            request.check()
        has_more = any(not turn.done() for turn in self._turns)
        loop = asyncio.get_running_loop()
        self._next_check = loop.call_later(CHECK_EVERY_S, self._check_who_waits) if has_more else None


class Request:
    """A request that was let in: whether it computes, as far as the processor time of its thread tells."""

    def __init__(self, permits: Permits) -> None:
        self._permits, self._computes = permits, True
        self._clock: int | None = None  # of its thread, once that has begun
        self._used_s, self._checked_at = 0.0, 0.0

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        """Name the thread that does the work, from within it."""
        self._used_s, self._checked_at = time.thread_time(), time.monotonic()
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        try:
            yield
        finally:
            self._clock = None  # its thread does other work from here on

    def check(self) -> None:
        """Give the permit to another if its thread was idle since the last check; count it once it computes again."""
        clock, now = self._clock, time.monotonic()
        if clock is None or now - self._checked_at < LONG_ENOUGH_S:
            return
        before_s, self._used_s, self._checked_at = self._used_s, time.clock_gettime(clock), now
        self._note(self._used_s - before_s > COMPUTES_ABOVE_S)

    def leave(self) -> None:
        """Give the permit back."""
        self._permits.forget(self)
        self._note(computes=False)

    def _note(self, computes: bool) -> None:
        if computes != self._computes:
            self._computes = computes
            self._permits.take() if computes else self._permits.give()
