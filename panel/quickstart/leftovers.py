"""Cleans up after a PostgreSQL that was killed: its lock file, and backends that still run.

The postmaster refuses to start while the pid in postmaster.pid belongs to any process of its account (after a power
cut, a pid may be reused), or while a backend of the old postmaster uses its shared memory. Such a backend ends when it
next checks for its postmaster, which may be after a long statement. Killing it is safe: crash recovery repairs the
data (PostgreSQL's manual, "Server Shutdown").
"""

import os
import signal
import time
from pathlib import Path

from panel.quickstart.programs import ProgramFailed

ENDS_WITHIN_S = 15.0
# The line of postmaster.pid with the status, and its value (PostgreSQL's src/include/utils/pidfile.h).
STATUS_LINE, STOPPING = 8, "stopping"


def clear(data_directory: Path) -> None:
    """Kill backends without a postmaster, wait for a postmaster that is shutting down, and remove the lock file.

    Raises `ProgramFailed` where the postmaster keeps running: two of them would destroy the data.
    """
    lock = data_directory / "postmaster.pid"
    deadline = time.monotonic() + ENDS_WITHIN_S
    while pids := working_in(data_directory):
        if postmaster_of(lock) not in pids:
            _kill(pids)
        if time.monotonic() > deadline:
            raise ProgramFailed(f"a PostgreSQL runs in {data_directory} (pid {min(pids)}): stop it first")
        time.sleep(0.05)
    lock.unlink(missing_ok=True)


def postmaster_of(lock: Path) -> int | None:
    """Return the pid in the lock file; None where it is missing, or empty after a crash of the machine."""
    try:
        return abs(int(lock.read_text().partition("\n")[0]))
    except (FileNotFoundError, ValueError):
        return None


def is_stopping(lock: Path) -> bool:
    """Return whether the postmaster of this lock file is shutting down."""
    try:
        lines = lock.read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= STATUS_LINE and lines[STATUS_LINE - 1].strip() == STOPPING


def working_in(folder: Path) -> set[int]:
    """Return the pids of a PostgreSQL with this data directory, which is the working directory of each."""
    resolved, pids = folder.resolve(), set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == resolved and (process / "exe").readlink().name.startswith("postgres"):
                pids.add(int(process.name))
        except OSError:  # it has ended, or belongs to another account
            continue
    return pids


def _kill(pids: set[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
