"""Starts load programs, the only module to do so, in a group that dies with its parent.

They run as an account without rights where this process can drop root. Their pipes are always drained, by line.
"""

import logging
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, Full, Queue
from typing import IO

from core.lib import env

log = logging.getLogger(__name__)

CHUNK_BYTES = 65_536
QUEUED_EVENTS = 20_000
TERM_SECONDS = 5.0
HELD_S = 5.0


@dataclass(frozen=True)
class Line:
    """One line of the program, without its newline; `stream` is `stdout` or `stderr`, `at` in monotonic seconds."""

    stream: str
    text: str
    at: float


@dataclass(frozen=True)
class StreamEnd:
    """Sent by a stream's reader after its last line: the program closed it."""

    stream: str


def with_setpriv(argv: Sequence[str]) -> list[str]:
    """Return the command behind setpriv(1): killed by the kernel when its starting thread ends, root dropped.

    setpriv sets the parent-death signal after the change of account, which would clear it (prctl(2)).
    """
    drop = setpriv_words() if drops_root() and is_reachable(argv[0]) else []
    return ["setpriv", *drop, "--pdeathsig=KILL", "--", *argv]


class LoadProcess:
    """A running load program; its lines arrive in `events`, in the order of each stream."""

    lost = ""  # a program of this machine can always be followed

    def __init__(self, argv: Sequence[str], env: dict[str, str], cwd: Path, events: "Queue[object]") -> None:
        """Start it; raises OSError when it can't be started. The starting thread must outlive it."""
        self.events = events
        self._child = subprocess.Popen(
            with_setpriv(argv),
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._lines = Lines(self._child, events)

    @property
    def dropped_lines(self) -> int:
        """The number of lines that were dropped, since they came faster than they were read."""
        return self._lines.dropped

    @property
    def pid(self) -> int:
        """The program's process and group id."""
        return self._child.pid

    def exit_code(self) -> int | None:
        """Return its exit code (negative: the signal); None while it runs."""
        code = self._child.poll()
        return None if code is None else normalized_exit_code(code)

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; do nothing where it is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def stop(self, term_seconds: float = TERM_SECONDS) -> int:
        """End the group by TERM, then KILL after `term_seconds`; return the exit code. Safe to call again."""
        if self._child.poll() is None:
            self.signal_group(signal.SIGTERM)
            self.signal_group(signal.SIGCONT)  # a stopped process gets its TERM only when it goes on
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(term_seconds)
        self.signal_group(signal.SIGKILL)
        return normalized_exit_code(self._child.wait())

    def join(self, seconds: float = 5.0) -> None:
        """Wait until both streams are drained, which a grandchild that holds a pipe may delay."""
        self._lines.join(seconds)


class Lines:
    """Reads the pipes of a child by line into `events`, always, so that a full pipe never holds the child up.

    `dropped` counts the lines that did not fit.
    """

    def __init__(self, child: "subprocess.Popen[bytes]", events: "Queue[object]") -> None:
        self.events = events
        self.dropped = 0
        self._pid = child.pid
        self._readers = [self._reader(child.stdout, "stdout"), self._reader(child.stderr, "stderr")]

    def join(self, seconds: float) -> None:
        """Wait for the ends of both streams, so many seconds for each at most."""
        for reader in self._readers:
            reader.join(seconds)

    def _reader(self, stream: IO[bytes] | None, name: str) -> threading.Thread:
        thread = threading.Thread(target=self._drain, args=(stream, name), name=f"{name} of {self._pid}", daemon=True)
        thread.start()
        return thread

    def _drain(self, stream: IO[bytes], name: str) -> None:
        reader = LineReader()
        with stream:
            while chunk := os.read(stream.fileno(), CHUNK_BYTES):
                self._put(name, reader.feed(chunk))
        self._put(name, reader.close())
        with suppress(Full):  # the queue's reader is gone
            self.events.put(StreamEnd(name), timeout=HELD_S)

    def _put(self, stream: str, lines: list[str]) -> None:
        at = time.monotonic()
        for text in lines:
            try:
                self.events.put_nowait(Line(stream, text, at))
            except Full:  # never hold the program up: a full pipe would slow the load that is being measured
                self.dropped += 1


def normalized_exit_code(code: int) -> int:
    """Return the exit code; 128 + n, with which a sandbox or shell reports signal n, becomes -n."""
    return 128 - code if 128 < code <= 128 + signal.NSIG else code


def drain(events: "Queue[object]") -> Iterator[object]:
    """Yield whatever is in the queue, without waiting."""
    with suppress(Empty):
        while True:
            yield events.get_nowait()


MAX_LINE_BYTES = 8 * 1024


class LineReader:
    """Splits a stream of bytes into lines at LF and CR, at most 8 KiB each, decoded with replacement.

    The rest of a longer line is dropped and counted in `truncated`; empty lines are left out.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._dropping = False
        self.truncated = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Return the lines that this chunk completes."""
        *ended, begun = re.split(rb"[\r\n]", chunk)
        lines = [line for piece in ended for line in self._end(piece)]
        self._keep(begun)
        return lines

    def close(self) -> list[str]:
        """Return the last line, where the stream ended without a newline."""
        return list(self._end(b""))

    def _end(self, piece: bytes) -> Iterator[str]:
        self._keep(piece)
        if self._kept:
            yield self._kept.decode("utf-8", "replace").replace("\x00", "\ufffd")
        self._kept.clear()
        self._dropping = False

    def _keep(self, piece: bytes) -> None:
        room = MAX_LINE_BYTES - len(self._kept)
        self._kept += piece[:room]
        if len(piece) > room and not self._dropping:
            self._dropping = True
            self.truncated += 1


# An account that nothing else uses and that /etc/passwd need not know: systemd's list of ids calls 65520 to 65533
# unused.
LOAD_UID = 65533


@cache
def drops_root() -> bool:
    """Test whether the load can run as LOAD_UID: only root can arrange that, and not in every container."""
    if os.geteuid() != 0:
        return False
    argv = ["setpriv", *setpriv_words(), "true"]
    trial = subprocess.run(argv, env=env.of_other_programs(), capture_output=True, check=False)
    return trial.returncode == 0


def setpriv_words() -> list[str]:
    """Return the arguments with which setpriv(1) changes to that account."""
    return [f"--reuid={LOAD_UID}", f"--regid={LOAD_UID}", "--clear-groups", "--no-new-privs"]


def is_reachable(program: str) -> bool:
    """Test whether an account without rights of its own can start the program (one under /root it can't).

    A link must be reachable as well as its target, since a virtual environment keeps its packages beside the link.
    """
    link, path = Path(program).absolute(), Path(program).resolve()
    folders = (link, *link.parents, path, *path.parents)
    return path.is_file() and all(folder.stat().st_mode & 0o001 for folder in folders)
