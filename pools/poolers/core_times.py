"""How long processes ran and waited for a processor, from the kernel's /proc/PID/schedstat.

A process that shares a busy core gets less than it wants: the time that it was runnable tells of a full core also then.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pools.poolers.pool_queue import CoreUse

PROC = Path("/proc")
Times = tuple[int, int]  # nanoseconds that it ran, and that it was ready to run


def of_process(pid: int) -> Times | None:
    """Read the times of a process of this host; None where it can't be seen, or where the kernel counts none."""
    return parsed(_text_of(pid, "schedstat"))


def is_program(pid: int, program: str) -> bool:
    """Return whether a process of this host runs that program still: its number may be another's by now."""
    return _text_of(pid, "comm").strip() == program


def parsed(text: str) -> Times | None:
    """Return the times in the text of a schedstat; None for another text."""
    words = text.split()
    return (int(words[0]), int(words[1])) if len(words) == 3 else None  # a kernel without it has zeros or no file


def between(first: Sequence[int], second: Sequence[int], elapsed_ns: float) -> CoreUse:
    """Return the use of a core between two readings."""
    running, waiting = ((after - before) / elapsed_ns for before, after in zip(first, second, strict=True))
    return CoreUse(min(1.0, running), min(1.0, waiting))


def _text_of(pid: int, name: str) -> str:
    with suppress(OSError):
        return (PROC / str(pid) / name).read_text()
    return ""
