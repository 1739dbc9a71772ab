"""The one module that starts a load program: in a group that dies with its parent, its pipes always drained."""

import logging
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, Full, Queue
from typing import IO

from benchmarks.engines.line_reader import LineReader

log = logging.getLogger(__name__)

CHUNK_BYTES = 65_536
QUEUED_EVENTS = 20_000
TERM_SECONDS = 5.0
HELD_S = 5.0
HOME_PREFIX = "pooldeck-run-"
# An account that nothing else uses and that /etc/passwd need not know: systemd's list of ids calls 65520–65533 unused.
LOAD_UID = 65533


@dataclass(frozen=True)
class Line:
    """One line of the program, without its newline; `stream` is `stdout` or `stderr`, `at` in monotonic seconds."""

    stream: str
    text: str
    at: float


@dataclass(frozen=True)
class Ended:
    """The program closed a stream."""

    stream: str


@cache
def _drops_root() -> bool:
    """Whether the load can be given to LOAD_UID: only root can, and not in every container."""
    if os.geteuid() != 0:
        return False
    trial = subprocess.run(["setpriv", *_account_words(), "true"], capture_output=True, check=False)
    return trial.returncode == 0


def _account_words() -> list[str]:
    return [f"--reuid={LOAD_UID}", f"--regid={LOAD_UID}", "--clear-groups", "--no-new-privs"]


def _reachable(program: str) -> bool:
    """Whether an account without rights of its own can start the program (one under /root it can't)."""
    path = Path(program).resolve()
    return path.is_file() and all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))


def wrapped(argv: Sequence[str]) -> list[str]:
    """The command behind setpriv(1): killed by the kernel when the thread that started it ends, root dropped.

    setpriv sets the parent-death signal after the change of account, which would clear it (prctl(2)).
    """
    drop = _account_words() if _drops_root() and _reachable(argv[0]) else []
    return ["setpriv", *drop, "--pdeathsig=KILL", "--", *argv]


@contextmanager
def private_home(owner: str, password: str, certificate: str = "") -> Iterator[Path]:
    """A 0700 folder with a 0600 `pgpass` of that password (and `root.crt`), the load's alone, gone afterwards.

    `owner` names it, so that the reaper can tell whose left-over it is.
    """
    home = Path(tempfile.mkdtemp(prefix=f"{HOME_PREFIX}{owner}-"))
    try:
        _write_private(home / "pgpass", passfile_text(password))
        if certificate:
            _write_private(home / "root.crt", certificate)
        if _drops_root():
            os.chown(home, LOAD_UID, LOAD_UID)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def passfile_text(password: str) -> str:
    """A password file (libpq's) that fits any connection of this one run; `:` and `\\` escaped."""
    escaped = password.replace("\\", "\\\\").replace(":", "\\:")
    return f"*:*:*:*:{escaped}\n"


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    if _drops_root():
        os.chown(path, LOAD_UID, LOAD_UID)


def left_homes() -> dict[str, Path]:
    """Owner → folder of every private home on this host, live ones included."""
    pattern = re.compile(re.escape(HOME_PREFIX) + r"(?P<owner>[0-9a-f]{32}-\d+)-[^/]+")
    folders = Path(tempfile.gettempdir()).glob(f"{HOME_PREFIX}*")
    return {match["owner"]: folder for folder in folders if (match := pattern.fullmatch(folder.name))}


def remove_home(folder: Path) -> None:
    """Remove a private home that its run left behind."""
    shutil.rmtree(folder, ignore_errors=True)


class LoadProcess:
    """A running load program; its lines arrive in `events`, in the order of each stream."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], cwd: Path, events: "Queue[object]") -> None:
        """Start it; raises OSError when it can't be started. The starting thread must outlive it."""
        self.events = events
        self.dropped_lines = 0
        self._child = subprocess.Popen(
            wrapped(argv),
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._readers = [self._reader(self._child.stdout, "stdout"), self._reader(self._child.stderr, "stderr")]

    @property
    def pid(self) -> int:
        """The program's process and group id."""
        return self._child.pid

    def _reader(self, stream: IO[bytes] | None, name: str) -> threading.Thread:
        thread = threading.Thread(target=self._drain, args=(stream, name), name=f"{name} of {self.pid}", daemon=True)
        thread.start()
        return thread

    def _drain(self, stream: IO[bytes], name: str) -> None:
        reader = LineReader()
        with stream:
            while chunk := os.read(stream.fileno(), CHUNK_BYTES):
                self._put(name, reader.feed(chunk))
        self._put(name, reader.close())
        with suppress(Full):  # nobody listens any more
            self.events.put(Ended(name), timeout=HELD_S)

    def _put(self, stream: str, lines: list[str]) -> None:
        at = time.monotonic()
        for text in lines:
            try:
                self.events.put_nowait(Line(stream, text, at))
            except Full:  # never hold the program up: a full pipe would slow the load that is being measured
                self.dropped_lines += 1

    def exit_code(self) -> int | None:
        """What it exited with (negative: the signal); None while it runs."""
        return self._child.poll()

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing when it is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def stop(self, term_seconds: float = TERM_SECONDS) -> int:
        """End the group: TERM, then KILL after `term_seconds`; the exit code. Safe to call again."""
        if self._child.poll() is None:
            self.signal_group(signal.SIGTERM)
            self.signal_group(signal.SIGCONT)  # a stopped process gets its TERM only when it goes on
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(term_seconds)
        self.signal_group(signal.SIGKILL)
        return self._child.wait()

    def join(self, seconds: float = 5.0) -> None:
        """Wait until both streams are drained, which a grandchild that kept a pipe may delay."""
        for reader in self._readers:
            reader.join(seconds)


def drain(events: "Queue[object]") -> Iterator[object]:
    """Whatever waits in the queue, without waiting."""
    with suppress(Empty):
        while True:
            yield events.get_nowait()
