"""Waits until a record in the database has settled; workers are other processes, so the record is read again."""

import time
from collections.abc import Callable
from typing import TypeVar

from core.lib import draining

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 0.5
Found = TypeVar("Found")


def poll(read: Callable[[], tuple[bool, Found]], seconds: float) -> Found:
    """Call `read` until it reports that its record has settled, at most for `seconds`; return what it read last.

    A process that was asked to end waits no longer.
    """
    deadline, pause = time.monotonic() + seconds, FIRST_PAUSE_S
    while True:
        has_settled, found = read()
        if has_settled or draining.has_begun() or (seconds_left := deadline - time.monotonic()) <= 0:
            return found
        draining.sleep(min(pause, seconds_left))
        pause = min(pause * 1.2, LONGEST_PAUSE_S)
