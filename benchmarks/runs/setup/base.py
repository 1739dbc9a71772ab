"""What a condition is given, and how it says what it did."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engines.base import Command
from benchmarks.models import Run
from benchmarks.runs.execution.recorder import Recorder
from pools.clusters.endpoints import Endpoint

LOOK_UP_S = 0.4  # how long a condition may work without calling `check`


@dataclass(frozen=True)
class Held:
    """A run about to start: where it logs in, its private home, and its recorder.

    `command` builds the load's command from other options. `check` renews the lease and raises where the run must
    end: a condition that takes its time calls it every `LOOK_UP_S`.
    """

    run: Run
    endpoint: Endpoint
    home: Path
    recorder: Recorder
    command: Callable[[dict[str, Any]], Command]
    check: Callable[[], None]

    def tell(self, words: str) -> None:
        """Tell watchers what is being done."""
        self.recorder.log(words, time.monotonic())

    def note(self, name: str, found: Any) -> None:
        """Keep what was done or measured in the run's `conditions`."""
        self.recorder.state(conditions={**self.run.conditions, name: found})
