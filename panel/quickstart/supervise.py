"""Keeps programs together: one that dies is started again, and when the person asks all end without a trace."""

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

from panel.quickstart.home import Home
from panel.quickstart.programs import Program, ProgramFailed
from panel.quickstart.restarts import START_LIMIT_BURST, START_LIMIT_INTERVAL_S, Restarts

POLL_EVERY_S = 0.2
ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
P = TypeVar("P", bound=Program)


class Asked(BaseException):
    """A signal asked for the end; not an `Exception`, so that nothing on the way takes it for a failure."""


def raise_asked(number: int, _: FrameType | None) -> None:
    """Turn the first signal into `Asked`; later ones don't disturb the ending."""
    ignore_signals()
    raise Asked(signal.Signals(number).name)


def ignore_signals() -> None:
    """From here on, go through with the ending."""
    for asking in ASKING:
        signal.signal(asking, signal.SIG_IGN)


def catch_signals() -> None:
    """End on Ctrl-C, SIGTERM and a closed terminal (unless started with nohup)."""
    for asking in ASKING:
        if asking != signal.SIGHUP or signal.getsignal(asking) != signal.SIG_IGN:
            signal.signal(asking, raise_asked)


def how_ended(program: Program) -> str:
    """In words: `worker ended with exit code -9`."""
    code = program.process.returncode if program.process else None
    return f"{program} ended with exit code {code}"


def end_of_log(program: Program) -> str:
    """The last lines it printed, and where the others are."""
    return f"the end of {program.log_path}:\n{program.log_tail}"


class Supervisor:
    """A context in which programs run; the last started is the first to end."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.programs: list[Program] = []
        self.restarts: dict[str, Restarts] = {}

    def start(self, program: P) -> P:
        """Prepare and start a program, its log anew under the home."""
        program.log_path = self.home.log_folder / f"{program.name}.log"
        if program.log_path.exists():
            program.log_path.replace(program.log_path.with_suffix(".log.1"))
        program.prepare()
        self.programs.append(program)
        program.spawn()
        return program

    def poll(self) -> None:
        """Raise `ProgramFailed` when one of them has ended."""
        for program in self.programs:
            if program.has_ended:
                raise ProgramFailed(f"{how_ended(program)}; {end_of_log(program)}")

    def wait_for(
        self, what: str, seconds: float, is_so: Callable[[], object], why_not: Callable[[], str] = str
    ) -> None:
        """Ask until it is so, while all programs run; raises `ProgramFailed` at the deadline, with `why_not()`."""
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
        """Return never: ends by `Asked`. A program that ends is started again, and `report` is given a sentence."""
        while True:
            for program in self.programs:
                self._keep_running(program, report)
            time.sleep(POLL_EVERY_S)

    def _keep_running(self, program: Program, report: Callable[[str], None]) -> None:
        restarts = self.restarts.setdefault(program.name, Restarts())
        if program.has_ended:
            how = how_ended(program)
            program.wait_until_stopped()  # what it left of its own goes too
            self._start_later(program, restarts, how, report)
        elif restarts.is_due(time.monotonic()):
            try:
                program.prepare()
                program.spawn()
            except (OSError, ProgramFailed) as error:
                self._start_later(program, restarts, f"{program} could not be started: {error}", report)

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
        """End what serves people first, then what those need."""
        ignore_signals()
        for wave in (False, True):
            programs = [program for program in reversed(self.programs) if program.drops is wave]
            for program in programs:
                program.ask_to_stop()
            for program in programs:
                program.wait_until_stopped()
