"""Runs an observer once a second in its own thread, 0.5 s away from the progress lines."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connections

log = logging.getLogger(__name__)

EVERY_S = 1.0
OFFSET_S = 0.5  # programs print progress on the full second: an observation then would delay it


@contextmanager
def every_second(
    name: str, observe: Callable[[], None], disconnect: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Call `observe` at once and then each second, in a thread of its own; an observer that fails is not called again.

    One that still runs when the load is over is ended by `disconnect`.
    """
    stopped = threading.Event()
    thread = threading.Thread(target=_observe_until, args=(name, observe, stopped), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(EVERY_S)
        if thread.is_alive():
            disconnect()
            thread.join(EVERY_S)


def _observe_until(name: str, observe: Callable[[], None], stopped: threading.Event) -> None:
    due = time.monotonic()
    try:
        observe()
        due += OFFSET_S
        while not stopped.wait(max(0.0, due - time.monotonic())):
            observe()
            due = max(due + EVERY_S, time.monotonic())
    except Exception:  # the run goes on without this observer, whatever failed
        log.exception("%s is no longer observed", name)
    finally:
        connections.close_all()  # this thread's own, in case the observer opened one
