"""Logs that rotate by size while their programs run: what a program prints comes through a pipe, so no line is lost.

Copying and truncating a file that others append to loses what they write in between, and each server reopens its log in
another way of its own, or not at all (PgBouncer without `logfile` prints to the supervisor, as all of them do here).
"""

import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path

from core.lib import env

READ_BYTES = 65536
LEAST_READ_BYTES = 4096  # else a read brings as much less as is left over, so that both are one write of READ_BYTES
LONGEST_LINE_BYTES = 65536
PIPE_BYTES = 1024 * 1024  # programs print on for a while if this process is suspended (Ctrl-Z)
LAST_LINES_WITHIN_S = 2.0


def max_bytes() -> int:
    """Return the size at which a log is rotated."""
    return env.number("POOLDECK_LOG_MAX_BYTES", 10_000_000, least=4096)


def backup_count() -> int:
    """Return the number of old files that are kept of each log."""
    return env.number("POOLDECK_LOG_BACKUP_COUNT", 3, least=1)


def rotate(path: Path, keep: int) -> None:
    """Rename `x.log` to `x.log.1`, `x.log.1` to `x.log.2` and so on; the oldest one is replaced."""
    for number in range(keep, 0, -1):
        newer = path.with_name(f"{path.name}.{number - 1}") if number > 1 else path
        if newer.exists():
            newer.replace(path.with_name(f"{path.name}.{number}"))


class RotatedLog:
    """A log file, written by a thread per start of its program."""

    def __init__(self, path: Path, size: int, keep: int) -> None:
        self.path, self.size, self.keep = path, size, keep
        self._lock = threading.Lock()  # a child of the last start may print yet
        self._reader = threading.Thread()

    def open_pipe(self) -> int:
        """Return the file descriptor that a program prints to, which the caller closes once the program has it."""
        read_fd, write_fd = os.pipe()
        with suppress(OSError):  # an account's pipes are limited in all (pipe-user-pages-soft); the default size does
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._reader = threading.Thread(target=self._copy, args=(read_fd,), name=self.path.name, daemon=True)
        self._reader.start()
        return write_fd

    def wait_for_last_lines(self) -> None:
        """Wait until all that an ended program printed is in the file."""
        if self._reader.ident is not None:
            self._reader.join(LAST_LINES_WITHIN_S)

    def _copy(self, read_fd: int) -> None:
        """Write whole lines; what a program printed without an end of line follows when it has ended."""
        incomplete_line = b""
        with os.fdopen(read_fd, "rb", buffering=0) as pipe:
            while chunk := pipe.read(max(READ_BYTES - len(incomplete_line), LEAST_READ_BYTES)):
                lines, newline, incomplete_line = (incomplete_line + chunk).rpartition(b"\n")
                self._write(lines + newline)
                if len(incomplete_line) > LONGEST_LINE_BYTES:
                    self._write(incomplete_line)
                    incomplete_line = b""
        self._write(incomplete_line)

    def _write(self, lines: bytes) -> None:
        """Append to the file, opened anew as it may have been deleted; rotate it first where it would get too large."""
        # With a full disk the lines are lost: a program whose pipe nobody reads would stop.
        with self._lock, suppress(OSError):
            size = self.path.stat().st_size if self.path.exists() else 0
            if size and size + len(lines) > self.size:
                rotate(self.path, self.keep)
            with self.path.open("ab") as file:
                file.write(lines)
