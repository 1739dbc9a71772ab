"""Supervises programs: restarts those that die, and stops all of them on a signal."""

import math
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

from panel.quickstart import rotated_logs
from panel.quickstart.home import Home
from panel.quickstart.programs import Program, ProgramFailed
from panel.quickstart.restarts import START_LIMIT_BURST, START_LIMIT_INTERVAL_S, Restarts

POLL_EVERY_S = 0.2
STOPS_WITHIN_S = 3.0
NOBODY_ELSE = "only script/up may end its programs before it is ready, or during --once"
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
P = TypeVar("P", bound=Program)


class StopRequested(BaseException):
    """A signal requested the end; not an `Exception`, so that no handler takes it for a failure."""


def request_stop(number: int, _: FrameType | None) -> None:
    """Raise `StopRequested` for the first signal, and ignore later ones."""
    ignore_signals()
    raise StopRequested(signal.Signals(number).name)


def ignore_signals() -> None:
    """Ignore further signals, so that the shutdown completes."""
    for stop_signal in STOP_SIGNALS:
        signal.signal(stop_signal, signal.SIG_IGN)


def catch_signals() -> None:
    """Raise `StopRequested` on Ctrl-C, SIGTERM and a closed terminal (unless started with nohup)."""
    for stop_signal in STOP_SIGNALS:
        if stop_signal != signal.SIGHUP or signal.getsignal(stop_signal) != signal.SIG_IGN:
            signal.signal(stop_signal, request_stop)


def how_ended(program: Program) -> str:
    """Describe the end: `worker ended with exit code -9`."""
    code = program.process.returncode if program.process else None
    return f"{program} ended with exit code {code}"


def end_of_log(program: Program) -> str:
    """Return the last lines that it printed, and the path of its log."""
    return f"the end of {program.log_path}:\n{program.log_tail}"


class Supervisor:
    """A context in which programs run; they stop in reverse order."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.programs: list[Program] = []
        self.restarts: dict[str, Restarts] = {}
        self.stopping_since: dict[str, float] = {}

    def start(self, program: P) -> P:
        """Prepare and start a program with a new log under the home, which is rotated by size."""
        program.log_path = self.home.log_folder / f"{program.name}.log"
        keep = rotated_logs.backup_count()
        rotated_logs.rotate(program.log_path, keep)
        program.rotated_log = rotated_logs.RotatedLog(program.log_path, rotated_logs.max_bytes(), keep)
        self.home.restart_request(program.name).unlink(missing_ok=True)  # A command that was killed leaves this file.
        program.prepare()
        self.programs.append(program)
        program.spawn()
        return program

    def poll(self) -> None:
        """Raise `ProgramFailed` if a program has ended, unless by a restart, which is completed."""
        for program in self.programs:
            if self._stop_hung_program(program):
                raise ProgramFailed(f"{program} was asked to shut down and waited for its clients: {NOBODY_ELSE}")
            if program.has_ended and not self._complete_restart(program):
                raise ProgramFailed(f"{how_ended(program)}; {end_of_log(program)}")

    def wait_for(
        self, what: str, seconds: float, is_so: Callable[[], object], why_not: Callable[[], str] = str
    ) -> None:
        """Wait until `is_so()`, while all programs run; raises `ProgramFailed` with `why_not()` at the deadline."""
        deadline = time.monotonic() + seconds
        while not is_so():
            self.poll()
            if time.monotonic() > deadline:
                reason = f" ({why_not()})" if why_not() else ""
                raise ProgramFailed(
                    f"not so after {seconds:.0f} s: {what}{reason}; the logs are in {self.home.log_folder}"
                )
            time.sleep(POLL_EVERY_S / 2)

    def watch(self, report: Callable[[str], None]) -> None:
        """Restart programs that end, passing a sentence to `report`; never returns, ends by `StopRequested`."""
        while True:
            for program in self.programs:
                self._keep_running(program, report)
            time.sleep(POLL_EVERY_S)

    def _keep_running(self, program: Program, report: Callable[[str], None]) -> None:
        restarts = self.restarts.setdefault(program.name, Restarts())
        if program.has_ended:
            how = how_ended(program)
            if self._restart_is_requested(program):
                report(f"{program} is restarted on request")
                restarts.request(time.monotonic())
                return program.wait_until_stopped()
            program.wait_until_stopped()  # kills its process group too
            self._start_later(program, restarts, how, report)
        elif restarts.is_due(time.monotonic()):
            try:
                program.prepare()
                program.spawn()
            except (OSError, ProgramFailed) as error:
                self._start_later(program, restarts, f"{program} could not be started: {error}", report)
        elif self._stop_hung_program(program):
            report(f"{program} has been shutting down for {STOPS_WITHIN_S:.0f} s, so its sessions are ended now")

    def _stop_hung_program(self, program: Program) -> bool:
        """Send its stop signal to a program that somebody else asked to end, and that waits for its clients.

        A PostgreSQL in a smart shutdown refuses each new session and waits for those that poolers keep open for ever;
        a pooler waits for those of applications. The signal is sent once; return whether it was now.
        """
        if not program.is_stopping or self.home.restart_request(program.name).exists():
            self.stopping_since.pop(program.name, None)
            return False
        if time.monotonic() <= self.stopping_since.setdefault(program.name, time.monotonic()) + STOPS_WITHIN_S:
            return False
        self.stopping_since[program.name] = math.inf
        program.ask_to_stop()
        return True

    def _restart_is_requested(self, program: Program) -> bool:
        """Tell whether a command ended it on purpose; such an end is no failure, and does not count."""
        request = self.home.restart_request(program.name)
        is_requested = request.exists()
        request.unlink(missing_ok=True)
        return is_requested

    def _complete_restart(self, program: Program) -> bool:
        """Start a program again whose restart was requested; return whether it was."""
        if not self._restart_is_requested(program):
            return False
        program.wait_until_stopped()
        program.prepare()
        program.spawn()
        return True

    def _start_later(self, program: Program, restarts: Restarts, why: str, report: Callable[[str], None]) -> None:
        seconds = restarts.ended(time.monotonic())
        if seconds is not None:
            return report(f"{why}; starting it again in {seconds:.1f} s (log: {program.log_path})")
        program.given_up()
        report(
            f"{why}, {START_LIMIT_BURST} times in {START_LIMIT_INTERVAL_S:.0f} s: it is not started again, the others "
            f"run on; {end_of_log(program)}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the panel's programs first, then the servers that they need."""
        ignore_signals()
        for wave in (False, True):
            programs = [program for program in reversed(self.programs) if program.drops is wave]
            for program in programs:
                program.ask_to_stop()
            for program in programs:
                program.wait_until_stopped()
