"""Sources of the logs that a load writes into its private home: what was appended to each, in order."""

import ctypes
import errno
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext as _

CHUNK_BYTES = 1 << 20
SETTLED_NS = 1_000_000_000  # a folder may change twice within the grain of its file system's clock
_BLOCK_BYTES = 4_096
_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01  # fallocate(2)
_libc = ctypes.CDLL(None, use_errno=True)

Chunk = tuple[str, bytes]  # the name of a log, and bytes that were appended to it


class LogSource(ABC):
    """The logs of one load. What was read is freed on the load's disk, which a long load would fill otherwise.

    `why_not` says why they can't be followed (empty: they can). `clock_ahead_s` is by how much the clock of the load's
    machine is ahead of this one's.
    """

    why_not = ""
    clock_ahead_s = 0.0

    @abstractmethod
    def appended(self) -> Iterator[Chunk]:
        """Yield the chunks appended since the last call; raise OSError where a log can't be read."""

    @abstractmethod
    def catch_up(self) -> None:
        """Have what is in the logs now come, as far as that takes a moment only."""

    @abstractmethod
    def finish(self) -> None:
        """Have all come that the load wrote, once it has ended."""

    @abstractmethod
    def close(self) -> None:
        """Close the logs. Safe to call again."""


class LogsHere(LogSource):
    """The logs in a folder of this machine, by a pattern of their names."""

    def __init__(self, home: Path, pattern: str) -> None:
        self._home, self._pattern = home, pattern
        self._open: dict[str, _File] = {}
        self._listed_ns = 0  # the home's modification time when it was last listed
        if not can_punch_holes(home):
            text = _("the file system of %(folder)s can't free the parts of a log that were read")
            self.why_not = text % {"folder": home.parent}

    def appended(self) -> Iterator[Chunk]:
        for name, file in self._open.items():
            yield from ((name, chunk) for chunk in file.appended())
        for name, file in self._opened():
            yield from ((name, chunk) for chunk in file.appended())

    def _opened(self) -> Iterator[tuple[str, "_File"]]:
        """Open and yield the logs that are new."""
        changed_ns = self._home.stat().st_mtime_ns
        if changed_ns <= self._listed_ns:
            return
        for path in self._home.glob(self._pattern):
            if path.name not in self._open:
                self._open[path.name] = _File(path)
                yield path.name, self._open[path.name]
        if time.time_ns() - changed_ns > SETTLED_NS:
            self._listed_ns = changed_ns

    def catch_up(self) -> None:
        """Do nothing: `appended` reads what is there."""

    def finish(self) -> None:
        """Do nothing, likewise."""

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()


class _File:
    """One log, and the position read up to."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._read_bytes = 0
        self._freed_bytes = 0

    def appended(self) -> Iterator[bytes]:
        """Yield the bytes appended since the last call."""
        while chunk := os.pread(self._descriptor, CHUNK_BYTES, self._read_bytes):
            self._read_bytes += len(chunk)
            yield chunk
        self._free()

    def _free(self) -> None:
        """Punch a hole where everything was read; the program goes on appending after it."""
        upto = self._read_bytes - self._read_bytes % _BLOCK_BYTES
        if upto > self._freed_bytes and punch_hole(self._descriptor, self._freed_bytes, upto - self._freed_bytes):
            self._freed_bytes = upto

    def close(self) -> None:
        os.close(self._descriptor)


def punch_hole(descriptor: int, start: int, length: int) -> bool:
    """Free the blocks of this part of a file; False where the file system can't (NFS before 4.2, for example)."""
    done = _libc.fallocate(descriptor, _PUNCH_HOLE_KEEP_SIZE, ctypes.c_longlong(start), ctypes.c_longlong(length))
    if done == 0:
        return True
    if (number := ctypes.get_errno()) not in (errno.EOPNOTSUPP, errno.ENOSYS):
        raise OSError(number, os.strerror(number))
    return False


def can_punch_holes(home: Path) -> bool:
    """Test whether logs in this folder can be freed while they grow."""
    path = home / "hole"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, b"\n" * _BLOCK_BYTES)
        return punch_hole(descriptor, 0, _BLOCK_BYTES)
    finally:
        os.close(descriptor)
        path.unlink()
