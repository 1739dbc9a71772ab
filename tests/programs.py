"""The processes of an installation: the programs that script/up runs, and all below them."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from tests.installation import Installation


def processes() -> dict[int, int]:
    """Process → parent, of all that run (zombies don't)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[0] != "Z":
            found[int(folder.name)] = int(words[1])
    return found


def below(pid: int) -> set[int]:
    """Its descendants."""
    parents = processes()
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


HEADS = {
    "beat": b"\0beat\0",
    "pgbouncer": b"/pgbouncer\0",
    "pgpool": b"/pgpool\0",
    "postgres": b"/postgres\0",
    "redis": b"redis-server",
    "web": b"panel.web_server",
    "generator": b"\0generator@",
    "generator-2": b"\0generator-2@",
    "worker": b"\0worker@",
}


def heads(installation: Installation) -> dict[str, int]:
    """Program → its process, of those that script/up runs now."""
    children = [pid for pid, parent in processes().items() if parent == installation.process.pid]
    lines = {}
    for pid in children:
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended since it was listed
            lines[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return {name: pid for name, part in HEADS.items() for pid, line in lines.items() if part in line}


def states(pids: Iterable[int]) -> list[str]:
    """Each process with its parent, its state, and where in the kernel it waits; for the log of a failure."""
    return [f"{pid}: {_state(pid)}" for pid in pids]


def _state(pid: int) -> str:
    try:
        process = psutil.Process(pid)
        waits = Path(f"/proc/{pid}/wchan").read_text()
        return f"{process.name()} of {process.ppid()} is {process.status()} in {waits}, {process.num_threads()} threads"
    except (psutil.Error, OSError) as error:
        return f"gone ({type(error).__name__})"
