"""What a watcher is given, and what it says."""

from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from benchmarks.models import LookKind, Run


@dataclass(frozen=True)
class Overlay:
    """A run whose load is on: the load's process and group, its private home, and where to put what is seen."""

    run: Run
    pid: int
    home: Path
    events: "Queue[object]"


@dataclass(frozen=True)
class Seen:
    """A look at a monotonic time; `figures` have their units in their names."""

    kind: LookKind
    at: float
    figures: dict[str, object]
