"""Identifies the process that holds the apply lock, so that a dead one's is taken without waiting for its lease."""

import os
from pathlib import Path

PROC = Path("/proc")
STATE, STARTED = 0, 19  # of the fields after the name in /proc/PID/stat (proc(5): fields 3 and 22)
ENDED = ("Z", "X")


def this_process() -> str:
    """Return host, number and start of this process in one word; empty where the system does not report them."""
    where, fields = _where(), _stat(os.getpid())
    return f"{where}/{os.getpid()}/{fields[STARTED]}" if where and fields else ""


def is_dead(holder: str) -> bool:
    """Return whether that process has certainly ended; False where that is unknown, as on another host."""
    where, _, rest = holder.partition("/")
    number, _, started = rest.partition("/")
    if not number or where != _where():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it belongs to another account
    fields = _stat(int(number))
    return bool(fields) and (fields[STATE] in ENDED or fields[STARTED] != started)


def _where() -> str:
    """Return this boot of this machine and the container's PID namespace; empty where the system hides them."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _stat(number: int) -> list[str]:
    """Return the fields after the process's name (any text); empty for a process that can't be seen."""
    try:
        return (PROC / str(number) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
