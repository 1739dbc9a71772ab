"""What a condition is given, and how it says what it did."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.models import Run
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

POLL_EVERY_S = 0.4  # how long a condition may work without calling `check`


class RunRecorder(Protocol):
    """What sets up a load writes of it: see `benchmarks.runs.execution.recorder.Recorder`."""

    def log(self, text: str, at: float) -> None:
        """Tell watchers a line."""

    def state(self, **values: Any) -> None:
        """Write values of the run and tell its state."""

    def progress(self, percent: float) -> None:
        """Tell how much is done."""


@dataclass(frozen=True)
class SetupContext:
    """A run about to start: where it logs in, its private home, and its recorder.

    `command` builds the load's command from other options. `check` renews the lease and raises where the run must
    end: a condition that takes its time calls it every `POLL_EVERY_S`.
    """

    run: Run
    endpoint: Endpoint
    home: Path
    recorder: RunRecorder
    command: Callable[[dict[str, Any]], Command]
    check: Callable[[], None]

    def report(self, words: str) -> None:
        """Tell watchers what is being done."""
        self.recorder.log(words, time.monotonic())

    def note(self, name: str, found: Any) -> None:
        """Keep what was done or measured in the run's `conditions`."""
        self.recorder.state(conditions={**self.run.conditions, name: found})
