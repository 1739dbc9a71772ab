"""Follows the transaction logs of a load while it writes them, and frees the disk space of what was read."""

import ctypes
import errno
import logging
import os
import time
from math import sqrt
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.analysis.latency.intervals import Figures, Intervals
from benchmarks.engines.base import LogFiles, Logged, LogReader

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
SETTLED_NS = 1_000_000_000  # a folder may change twice within the grain of its file system's clock
_BLOCK_BYTES = 4_096
_PUNCH_HOLE_KEEP_SIZE = 0x02 | 0x01  # fallocate(2)
_libc = ctypes.CDLL(None, use_errno=True)


class Follower:
    """The logs of one load in its private home: `intervals` holds what was read, `broken` says why reading failed."""

    def __init__(self, files: LogFiles, home: Path) -> None:
        self.files = files
        self.intervals = Intervals()
        self.broken = ""
        self._home = home
        self._open: dict[Path, _File] = {}
        self._listed_ns = 0  # the home's modification time when it was last listed

    def read(self) -> None:
        """Read what was appended since the last call; a load whose log can't be read goes on."""
        try:
            self._read()
        except OSError as error:
            self.broken = self.broken or _("the log of transactions can't be read: %(error)s") % {"error": error}
            log.warning("%s: %s", self._home.name, self.broken)

    def _read(self) -> None:
        if not self.broken and (changed_ns := self._home.stat().st_mtime_ns) > self._listed_ns:
            self._open_new()
            if time.time_ns() - changed_ns > SETTLED_NS:
                self._listed_ns = changed_ns
        for file in self._open.values():
            self.intervals.add(file.read(), scheduled=self.files.scheduled)

    def _open_new(self) -> None:
        for path in self._home.glob(self.files.pattern):
            if path not in self._open:
                self._open[path] = _File(path, self.files.reader())

    def end_interval(self, at: float, transactions: float = 0.0) -> Figures:
        """Return the figures of the progress interval of so many transactions that ended at this monotonic time.

        Those known so far; none while its log is not complete.
        """
        self.read()
        ended = time.time() - (time.monotonic() - at)
        return self.intervals.end(round(ended * 1_000_000), _logged_of(transactions, self.files.sampling_rate))

    def close(self) -> None:
        """Read the rest and close the files."""
        self.read()
        for file in self._open.values():
            file.close()
        self._open.clear()


def _logged_of(transactions: float, share: float) -> float:
    """Return how many of the transactions are logged at least where chance logs each with this probability."""
    expected = transactions * share
    return max(0.0, expected - 3 * sqrt(expected * (1 - share)))


class _File:
    """One log file: the position read up to, and its reader."""

    def __init__(self, path: Path, reader: LogReader) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._reader = reader
        self._read_bytes = 0
        self._freed_bytes = 0

    def read(self) -> list[Logged]:
        """Return the transactions that were appended since the last call."""
        found: list[Logged] = []
        while chunk := os.pread(self._descriptor, CHUNK_BYTES, self._read_bytes):
            self._read_bytes += len(chunk)
            found += self._reader.feed(chunk)
        self._free()
        return found

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
