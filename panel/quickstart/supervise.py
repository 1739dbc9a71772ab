"""Keeps programs together: when one ends, or the person asks, all of them end and nothing is left behind."""

import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeVar

from panel.quickstart.home import Home
from panel.quickstart.programs import Program, ProgramFailed

LOOK_EVERY_S = 0.2
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


class Supervisor:
    """A context in which programs run; the last started is the first to end."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.programs: list[Program] = []

    def start(self, program: P) -> P:
        """Prepare and start a program, its log anew under the home."""
        program.log_path = self.home.log_folder / f"{program.name}.log"
        if program.log_path.exists():
            program.log_path.replace(program.log_path.with_suffix(".log.1"))
        program.prepare()
        self.programs.append(program)
        program.spawn()
        return program

    def look(self) -> None:
        """Raise `ProgramFailed` when one of them has ended."""
        for program in self.programs:
            if program.process is not None and program.process.poll() is not None:
                raise ProgramFailed(
                    f"{program} ended with exit code {program.process.returncode}; "
                    f"the end of {program.log_path}:\n{program.log_tail}"
                )

    def wait_for(
        self, what: str, seconds: float, is_so: Callable[[], object], why_not: Callable[[], str] = str
    ) -> None:
        """Ask until it is so, while all programs run; raises `ProgramFailed` at the deadline, with `why_not()`."""
        deadline = time.monotonic() + seconds
        while not is_so():
            self.look()
            if time.monotonic() > deadline:
                reason = f" ({why_not()})" if why_not() else ""
                raise ProgramFailed(
                    f"not so after {seconds:.0f} s: {what}{reason}; the logs are in {self.home.log_folder}"
                )
            time.sleep(LOOK_EVERY_S / 2)

    def watch(self) -> None:
        """Return never: ends by `Asked`, or `ProgramFailed` when a program ends."""
        while True:
            self.look()
            time.sleep(LOOK_EVERY_S)

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
