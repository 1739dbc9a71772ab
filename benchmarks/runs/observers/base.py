"""The context of an observer, and its observations."""

from contextlib import suppress
from dataclasses import dataclass, field
from queue import Full, Queue

from benchmarks.models import ObservationKind, Run
from benchmarks.processes.machines import Home
from benchmarks.runs.observers.probes import ServerProbe


@dataclass(frozen=True)
class ObservedFigures:
    """An observation at a monotonic time; `figures` carry their units in their names."""

    kind: ObservationKind
    at: float
    figures: dict[str, object]


@dataclass(frozen=True)
class LoadContext:
    """A run whose load is on: the load's process, its private home, the queue for observations, and the open probes.

    `pid` may be a wrapper's: the load is that process and its descendants.
    """

    run: Run
    pid: int
    home: Home
    events: "Queue[object]"
    probe: ServerProbe = field(default_factory=ServerProbe)

    def put(self, event: object) -> None:
        """Put an observation into the queue; drop it where nobody reads the queue any more."""
        with suppress(Full):
            self.events.put_nowait(event)
