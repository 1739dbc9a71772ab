"""A limit on the memory of a test's own server, page cache included, by a cgroup of either version."""

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path("/sys/fs/cgroup")
REMOVED_WITHIN_S = 10


def limit(name: str, pid: int, memory_bytes: int) -> None:
    """Hold the process, its children and whatever they start below so many bytes; skip where no cgroup can be made.

    Call `remove` once the process has ended.
    """
    folder, file = _place(name)
    try:
        folder.mkdir(exist_ok=True)
        (folder / file).write_text(str(memory_bytes))
    except OSError as error:
        pytest.skip(f"no cgroup that limits memory can be made here: {error}")
    for one in (pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))):
        with suppress(ProcessLookupError):  # a child that has ended since
            (folder / "cgroup.procs").write_text(str(one))


def remove(name: str) -> None:
    """Remove the cgroup of a server that has stopped; it is busy until the last process is gone."""
    folder, _file = _place(name)
    deadline = time.monotonic() + REMOVED_WITHIN_S
    while folder.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            folder.rmdir()
        time.sleep(0.1)


def _place(name: str) -> tuple[Path, str]:
    """Return the folder of the cgroup, and its file that takes the limit."""
    if (ROOT / "memory").is_dir():
        return ROOT / "memory" / name, "memory.limit_in_bytes"
    return ROOT / name, "memory.max"
