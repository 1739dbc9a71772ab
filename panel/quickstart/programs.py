"""Runs one program in the foreground: start it with a log file, wait until it is ready, stop it."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import BinaryIO, Self

from panel.quickstart import account
from panel.quickstart.rotated_logs import RotatedLog

LOG_TAIL = 20
PLAIN_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}


class ProgramFailed(Exception):
    """A program ended or never became ready; the message carries the end of its log."""


class Program:
    """A command that runs as this process's user, or as the unprivileged account if `drops` is set.

    `stop_signal` ends it; the kernel sends `orphan_signal` when the process that started it dies.
    """

    name = "program"
    stop_signal = signal.SIGTERM
    orphan_signal = signal.SIGTERM
    stop_within_s = 10.0
    ready_within_s = 30.0
    drops = False
    handed_over: tuple[int, ...] = ()  # file descriptors that it inherits

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log_path = home / f"{self.name}.log"
        self.rotated_log: RotatedLog | None = None  # else the program appends to the file itself
        self.process: subprocess.Popen[bytes] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def argv(self) -> list[str]:
        """The command that runs in the foreground, without secrets."""
        raise NotImplementedError

    @property
    def environment(self) -> dict[str, str]:
        return dict(PLAIN_ENVIRONMENT)

    def prepare(self) -> None:
        """Write the files that it needs; idempotent."""

    def probe(self) -> None:
        """Return if it serves; raise one of `not_ready` if it does not yet."""

    not_ready: tuple[type[Exception], ...] = (OSError,)

    def spawn(self) -> None:
        """Start it, without waiting. From the main thread: the death signal is tied to the thread that starts it."""
        with self._open_log() as log:
            self.process = subprocess.Popen(
                self._wrapped_argv(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                cwd=self.working_folder,
                start_new_session=True,
                pass_fds=self.handed_over,
            )

    def _open_log(self) -> BinaryIO:
        if self.rotated_log is None:
            return self.log_path.open("ab")
        return os.fdopen(self.rotated_log.open_pipe(), "wb")

    def _wrapped_argv(self) -> list[str]:
        if self.drops:
            return account.as_unprivileged(self.argv, self.orphan_signal, self.home)
        return account.ending_with_parent(self.argv, self.orphan_signal)

    @property
    def working_folder(self) -> Path:
        return self.home

    def wait_until_ready(self) -> None:
        """Probe until it serves; raises `ProgramFailed` where it ended or missed the deadline."""
        deadline = time.monotonic() + self.ready_within_s
        while True:
            try:
                return self.probe()
            except self.not_ready as error:
                self._check_still_starting(deadline, error)
            time.sleep(0.05)

    def _check_still_starting(self, deadline: float, error: Exception) -> None:
        if not self.is_running:
            raise ProgramFailed(f"{self.name} ended as it started:\n{self.log_tail}") from error
        if time.monotonic() > deadline:
            raise ProgramFailed(
                f"{self.name} was not ready after {self.ready_within_s:.0f} s ({error}):\n{self.log_tail}"
            ) from error

    def start(self) -> Self:
        """Prepare it, start it and wait until it serves; stop it if it does not."""
        self.prepare()
        self.spawn()
        try:
            self.wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def has_ended(self) -> bool:
        """True if it was started and has ended without being stopped."""
        return self.process is not None and self.process.poll() is not None

    @property
    def is_stopping(self) -> bool:
        """True if it says itself that it is about to end, as somebody asked it to."""
        return False

    def given_up(self) -> None:
        """Release what was kept for a restart, as there will be none."""

    def kill(self, with_signal: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process if it runs."""
        if self.process is not None and self.is_running:
            self.process.send_signal(with_signal)

    def ask_to_stop(self) -> None:
        """Send its stop signal, without waiting."""
        self.kill(self.stop_signal)

    def stop(self) -> None:
        """Stop it; kill its process group at the deadline."""
        if self.process is None:
            return
        self.ask_to_stop()
        self.wait_until_stopped()

    def wait_until_stopped(self) -> None:
        """Wait until it has stopped; kill its process group at the deadline."""
        if self.process is None:
            return
        try:
            self.process.wait(self.stop_within_s)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGKILL)
            self.process.wait()
        self._end_group(self.process.pid)
        self.process = None
        if self.rotated_log:
            self.rotated_log.wait_for_last_lines()

    @staticmethod
    def _end_group(group: int) -> None:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return

    @property
    def log(self) -> str:
        """All it printed since its home was made, or since its log was rotated."""
        if self.rotated_log and not self.is_running:
            self.rotated_log.wait_for_last_lines()
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    @property
    def log_tail(self) -> str:
        return "\n".join(self.log.splitlines()[-LOG_TAIL:])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
