"""The end of a worker that was asked to stop while runs of it go on: they get a time to end, and are then ended.

The worker's main process sets a byte that its child processes share, as they were forked from it: no database and no
Redis need answer for a run to learn that its worker ends.
"""

import logging
import mmap
import threading

log = logging.getLogger(__name__)

_is_over = mmap.mmap(-1, 1)


def begin(allowed_s: float) -> None:
    """Let running loads end by themselves within `allowed_s`; then end them. Returns at once."""
    log.warning("stopping: runs have %d s to end, then they are ended", allowed_s)
    timer = threading.Timer(allowed_s, end_runs)
    timer.daemon = True
    timer.start()


def end_runs() -> None:
    """Let every run of this worker end now."""
    _is_over[0] = 1


def ends_runs() -> bool:
    """Tell whether the time of this worker's runs is over."""
    return _is_over[0] == 1


def forget() -> None:
    """Take it back, for tests."""
    _is_over[0] = 0
