"""What a watcher is given, and what it says."""

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Full, Queue

from benchmarks.models import ObservationKind, Run
from benchmarks.runs.observers.probes import ServerProbe


@dataclass(frozen=True)
class Seen:
    """A look at a monotonic time; `figures` have their units in their names."""

    kind: ObservationKind
    at: float
    figures: dict[str, object]


@dataclass(frozen=True)
class Overlay:
    """A run whose load is on: the load's process, its private home, where to put what is seen, what was opened before.

    `pid` may be a wrapper's: the load is that process and all that come from it.
    """

    run: Run
    pid: int
    home: Path
    events: "Queue[object]"
    probe: ServerProbe = field(default_factory=ServerProbe)

    def put(self, event: object) -> None:
        """Hand over what was seen; dropped where nobody takes it any more."""
        with suppress(Full):
            self.events.put_nowait(event)
