"""What a PostgreSQL that was killed leaves in its data directory and in memory, and how the next start gets rid of it.

The postmaster refuses to start while the pid in postmaster.pid belongs to any process of its account (a pid may be
given out anew after a power cut), or while a backend of the old one still holds the shared memory; such a backend
ends by itself when it next looks for its postmaster, which may be after a long statement (PostgreSQL's manual,
"Server Shutdown": crash recovery makes good what SIGKILL did).
"""

import os
import signal
import time
from pathlib import Path

from panel.quickstart.programs import ProgramFailed

ENDS_WITHIN_S = 15.0


def clear(data_directory: Path) -> None:
    """End the backends without a postmaster, wait for a postmaster that is ending, and remove the lock file it left.

    Raises `ProgramFailed` where a postmaster runs on: two of them would destroy the data.
    """
    lock = data_directory / "postmaster.pid"
    deadline = time.monotonic() + ENDS_WITHIN_S
    while left := working_in(data_directory):
        if postmaster_of(lock) not in left:
            _kill(left)
        if time.monotonic() > deadline:
            raise ProgramFailed(f"a PostgreSQL runs in {data_directory} (pid {min(left)}): stop it first")
        time.sleep(0.05)
    lock.unlink(missing_ok=True)


def postmaster_of(lock: Path) -> int | None:
    """The pid that the lock file names; None without one, or where a crash of the machine left it empty."""
    try:
        return abs(int(lock.read_text().partition("\n")[0]))
    except (FileNotFoundError, ValueError):
        return None


def working_in(folder: Path) -> set[int]:
    """The processes of a PostgreSQL with this data directory: each has it as its working directory."""
    wanted, found = folder.resolve(), set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == wanted and (process / "exe").readlink().name.startswith("postgres"):
                found.add(int(process.name))
        except OSError:  # it ended meanwhile, or is another account's
            continue
    return found


def _kill(pids: set[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
