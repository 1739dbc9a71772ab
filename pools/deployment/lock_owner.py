"""Which process holds the right to apply: that of a dead one is taken at once, without waiting for its lease."""

import os
from pathlib import Path

PROC = Path("/proc")
STATE, STARTED = 0, 19  # of what follows the name in /proc/PID/stat (proc(5): fields 3 and 22)
ENDED = ("Z", "X")


def this_process() -> str:
    """Host, number and start of this process in one word; empty where the system does not tell them."""
    where, fields = _where(), _stat(os.getpid())
    return f"{where}/{os.getpid()}/{fields[STARTED]}" if where and fields else ""


def is_dead(holder: str) -> bool:
    """Whether that process is proved to be gone; False where it can't be known, as of one on another host."""
    where, _, rest = holder.partition("/")
    number, _, started = rest.partition("/")
    if not number or where != _where():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is another account's
    fields = _stat(int(number))
    return bool(fields) and (fields[STATE] in ENDED or fields[STARTED] != started)


def _where() -> str:
    """This boot of this machine, and the container's own numbering of processes; empty where that is not told."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _stat(number: int) -> list[str]:
    """What follows the process's name, which may hold anything; empty for a process that may not be seen."""
    try:
        return (PROC / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
