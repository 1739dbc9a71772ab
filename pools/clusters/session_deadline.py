"""Waits on no session for ever: libpq itself would, so the line is cut under it.

Closing a session under a thread that waits on it is not safe (libpq's manual, Behavior in Threaded Programs).
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
    """Cuts the line where the block is not over in time; the event is set then."""
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


def hang_up(session: Session) -> None:
    """Cut the line at once; nothing where it is closed."""
    if not session.closed:
        with suppress(OSError), socket.socket(fileno=os.dup(session.fileno())) as line:
            _shut(line)


def _shut(line: socket.socket) -> None:
    with suppress(OSError):  # the other end was quicker
        line.shutdown(socket.SHUT_RDWR)
