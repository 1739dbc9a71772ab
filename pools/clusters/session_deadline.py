"""Deadline for blocking calls of libpq, which has no timeout of its own: it shuts the socket down.

Closing a session while a thread waits on it is not safe (libpq's manual, Behavior in Threaded Programs).
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Timer
from typing import Any

import psycopg

Session = psycopg.Connection[Any]


@contextmanager
def within(session: Session, seconds: float) -> Iterator[Event]:
    """Shut the session's socket down unless the block ends within `seconds`; the yielded event is set then."""
    gave_up = Event()
    with socket.socket(fileno=os.dup(session.fileno())) as line:

        def give_up() -> None:
            gave_up.set()
            _shut(line)

        timer = Timer(seconds, give_up)
        timer.start()
        try:
            yield gave_up
        finally:
            timer.cancel()
            timer.join()


def shut_down(session: Session) -> None:
    """Shut the session's socket down at once; no-op where it is closed."""
    if not session.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(session.fileno())) as line:
            _shut(line)


def _shut(line: socket.socket) -> None:
    with suppress(OSError):  # the other end was quicker
        line.shutdown(socket.SHUT_RDWR)
