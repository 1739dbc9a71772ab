"""The context of a set-up step, with its means to report and note."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, Unpack

from benchmarks.models import Run
from benchmarks.models.columns import RunColumns
from benchmarks.models.conditions import RunConditions
from benchmarks.models.options import RunOptions
from benchmarks.processes.command import Command
from benchmarks.processes.machines import Home
from pools.clusters.endpoints import Endpoint

POLL_EVERY_S = 0.4  # the longest time that a condition may work without a call of `check`
T = TypeVar("T")


class RunRecorder(Protocol):
    """The writes of a set-up step: see `benchmarks.runs.execution.recorder.Recorder`."""

    mask: Callable[[str], str]

    def log(self, text: str, at: float) -> None:
        """Publish a line to live viewers."""

    def state(self, **values: Unpack[RunColumns]) -> None:
        """Write values of the run and publish its state."""

    def progress(self, percent: float) -> None:
        """Publish how much is done, in percent."""

    def retry_until_available(self, action: Callable[[], T]) -> T:
        """Return the result of what is safe to repeat, once the metadata database is there."""


@dataclass(frozen=True)
class SetupContext:
    """A run about to start: the endpoint it logs in to, its private home on the load's machine, and its recorder.

    `command` builds the load's command from other options. `check` renews the lease and raises where the run must end:
    long steps call it every `POLL_EVERY_S`.
    """

    run: Run
    endpoint: Endpoint
    place: Home
    recorder: RunRecorder
    command: Callable[[RunOptions], Command]
    check: Callable[[], None]

    @property
    def home(self) -> Path:
        """The folder where this process reads the files that the load writes into its private home."""
        return self.place.here

    @property
    def is_here(self) -> bool:
        """True if its load runs on this machine."""
        return self.place.is_here

    def report(self, words: str) -> None:
        """Publish to live viewers what is being done."""
        self.recorder.log(words, time.monotonic())

    def note(self, noted: RunConditions) -> None:
        """Add what was done or measured to the run's `conditions`."""
        self.recorder.state(conditions={**self.run.conditions, **noted})
