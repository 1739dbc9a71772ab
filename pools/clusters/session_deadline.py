"""Deadline for blocking calls of libpq, which has no timeout of its own: it shuts the socket down.

Closing a session while a thread waits on it is not safe (libpq's manual, Behavior in Threaded Programs).
"""

import heapq
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Condition, Event, Thread
from typing import Any

import psycopg

Session = psycopg.Connection[Any]


class _Call:
    """A call with a deadline: its socket, until the call is over, and whether it was shut down."""

    def __init__(self, line: socket.socket) -> None:
        self.line: socket.socket | None = line
        self.gave_up = Event()


class _Deadlines:
    """The calls of this process by deadline, and the one thread that shuts their sockets down.

    A thread for each call would cost as much as the answer of a console, and so would a wake of this one for each call
    that is over: it drops these together.
    """

    def __init__(self) -> None:
        self.changed = Condition()
        self.calls: list[tuple[float, int, _Call]] = []  # a heap by deadline; calls that are over leave it once first
        self.numbers = count()
        self.thread: Thread | None = None

    def add(self, call: _Call, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        with self.changed:
            is_first = not self.calls or deadline < self.calls[0][0]
            heapq.heappush(self.calls, (deadline, next(self.numbers), call))
            if self.thread is None:
                self.thread = Thread(target=self._give_up_in_time, name="deadlines", daemon=True)
                self.thread.start()
            elif is_first:
                self.changed.notify()

    def end(self, call: _Call) -> None:
        """Leave its socket alone from here on."""
        with self.changed:
            call.line = None

    def _give_up_in_time(self) -> None:
        with self.changed:
            while True:
                now = time.monotonic()
                if self.calls and self.calls[0][0] <= now:
                    self._drop(now)
                self.changed.wait(self.calls[0][0] - now if self.calls else None)

    def _drop(self, now: float) -> None:
        """Drop what is due, and what is over before the next that is not: sooner, each further call would wake it."""
        while self.calls and (self.calls[0][0] <= now or self.calls[0][2].line is None):
            _give_up(heapq.heappop(self.calls)[2])


_deadlines = _Deadlines()
os.register_at_fork(after_in_child=_deadlines.__init__)  # type: ignore[misc]  # its thread is the parent's


@contextmanager
def within(session: Session, seconds: float) -> Iterator[Event]:
    """Shut the session's socket down unless the block ends within `seconds`; the yielded event is set then."""
    with socket.socket(fileno=os.dup(session.fileno())) as line:
        call = _Call(line)
        _deadlines.add(call, seconds)
        try:
            yield call.gave_up
        finally:
            _deadlines.end(call)


def shut_down(session: Session) -> None:
    """Shut the session's socket down at once; no-op where it is closed."""
    if not session.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(session.fileno())) as line:
            _shut(line)


def _give_up(call: _Call) -> None:
    if call.line is not None:
        call.gave_up.set()
        _shut(call.line)


def _shut(line: socket.socket) -> None:
    with suppress(OSError):  # the other end was quicker
        line.shutdown(socket.SHUT_RDWR)
