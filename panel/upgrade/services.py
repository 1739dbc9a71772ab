"""Who starts and stops the panel's services: systemd, a command of the operator's, or nobody."""

import shlex
import subprocess
import time
from collections.abc import Sequence
from typing import Protocol

from core.lib import env
from panel.upgrade.errors import StepFailed

BEAT, TASKS, RUNS, WEB = "pooldeck-beat", "pooldeck-tasks", "pooldeck-runs", "pooldeck-web"
# Beat first, so that nothing new is asked for; the workers then finish what they have, while the web still answers.
STOP_ORDER = (BEAT, TASKS, RUNS, WEB)
# The web last: who gets an answer has workers behind it.
START_ORDER = (TASKS, RUNS, BEAT, WEB)
LONGEST_STOP_S = 3600.0  # the manager's own limits, such as TimeoutStopSec=, end before
STAYS_UP_S = 2.0


class Services(Protocol):
    """A manager of the four services."""

    manages: bool

    def stop(self, unit: str) -> None:
        """Stop one and wait until it has ended; no error where it does not run. Raises `StepFailed`."""

    def start(self, unit: str) -> None:
        """Start one. Raises `StepFailed`."""

    def is_active(self, unit: str) -> bool:
        """Tell whether one runs."""


class Nobody:
    """For containers and tests: whoever started the services stops them before, and starts them after."""

    manages = False

    def stop(self, unit: str) -> None:
        """Do nothing."""

    def start(self, unit: str) -> None:
        """Do nothing."""

    def is_active(self, unit: str) -> bool:
        """Say yes: nobody knows better."""
        return True


class Command:
    """A program that is called as systemctl is: `PROGRAM stop UNIT`, `start UNIT`, `is-active UNIT`."""

    manages = True

    def __init__(self, argv: Sequence[str]) -> None:
        self.argv = list(argv)

    def stop(self, unit: str) -> None:
        """Stop one and wait until it has ended."""
        self._call("stop", unit)

    def start(self, unit: str) -> None:
        """Start one."""
        self._call("start", unit)

    def is_active(self, unit: str) -> bool:
        """Tell whether one runs."""
        return self._run("is-active", unit).returncode == 0

    def _call(self, verb: str, unit: str) -> None:
        done = self._run(verb, unit)
        if done.returncode:
            raise StepFailed(f"{' '.join([*self.argv, verb, unit])} failed: {(done.stderr or done.stdout).strip()}")

    def _run(self, verb: str, unit: str) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                [*self.argv, verb, unit],
                env=env.of_other_programs(),
                capture_output=True,
                text=True,
                check=False,
                timeout=LONGEST_STOP_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StepFailed(f"{self.argv[0]}: {error}") from error


class Systemd(Command):
    """The services of an installation by script/install, controlled by systemctl."""

    def __init__(self) -> None:
        super().__init__(["systemctl"])

    def start(self, unit: str) -> None:
        """Start one, also where it failed too often a moment ago."""
        self._run("reset-failed", unit)
        super().start(unit)


def named(name: str) -> Services:
    """Return the manager that `--service-manager` names: systemd, none, or a command."""
    if name == "systemd":
        return Systemd()
    return Nobody() if name == "none" else Command(shlex.split(name))


def stop_all(services: Services) -> None:
    """Stop the services in their order."""
    for unit in STOP_ORDER:
        services.stop(unit)


def start_all(services: Services) -> float:
    """Start the services in their order; return when that began (monotonic seconds)."""
    began = time.monotonic()
    for unit in START_ORDER:
        services.start(unit)
    return began


def ended(services: Services) -> list[str]:
    """Return the services that do not run, asked twice: one that ends as it starts is active for a moment."""
    if not services.manages:
        return []
    time.sleep(STAYS_UP_S)
    return [unit for unit in START_ORDER if not services.is_active(unit)]
