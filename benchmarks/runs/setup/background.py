"""Runs long set-up work in a thread, while the run is kept alive."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from benchmarks.runs.setup.base import POLL_EVERY_S, SetupContext

T = TypeVar("T")


def run_in_thread(
    context: SetupContext, work: Callable[[], T], abort: Callable[[], None], percent: Callable[[], float] | None = None
) -> T:
    """Return the work's result; `percent` is published meanwhile as its progress.

    Where the run must end, `abort` is called to end the work early, and the work is waited for.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="condition") as worker:
        result = worker.submit(work)
        try:
            while wait([result], POLL_EVERY_S).not_done:
                context.check()
                if percent is not None:
                    context.recorder.progress(percent())
        except BaseException:
            abort()
            raise
        return result.result()
