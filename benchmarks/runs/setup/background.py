"""Runs long set-up work in a thread, while the run is kept alive."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from benchmarks.runs.setup.base import POLL_EVERY_S, SetupContext

T = TypeVar("T")


def carry_out(
    held: SetupContext, work: Callable[[], T], give_up: Callable[[], None], percent: Callable[[], float] | None = None
) -> T:
    """Return the work's result; `percent` is published meanwhile as its progress.

    Where the run must end, `give_up` is called to end the work early, and the work is waited for.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="condition") as worker:
        doing = worker.submit(work)
        try:
            while wait([doing], POLL_EVERY_S).not_done:
                held.check()
                if percent is not None:
                    held.recorder.progress(percent())
        except BaseException:
            give_up()
            raise
        return doing.result()
