"""The grid: which fault strikes which process during which activity."""

from collections.abc import Iterator
from dataclasses import dataclass

PANEL = ("web", "worker", "generator", "beat", "redis", "metadata")
SERVERS = ("pgbouncer", "pgpool", "postgres")
PROCESSES = PANEL + SERVERS
SIGNALS = ("kill", "term", "stop")
NETWORK = ("cut", "delay")  # of the way to it
DISK = "disk"
FAULTS = (*SIGNALS, *NETWORK, DISK)
ACTIVITIES = ("run", "apply", "init", "experiment")
ONLY_CLIENTS = ("worker", "generator", "beat")  # they listen on nothing
QUICK = (
    ("kill", "generator", "run"),
    ("kill", "worker", "apply"),
    ("kill", "web", "run"),
    ("term", "redis", "apply"),
)


@dataclass(frozen=True, order=True)
class Cell:
    """One fault of one process during one activity."""

    fault: str
    process: str
    activity: str

    def __str__(self) -> str:
        return f"{self.fault} of {self.process} during {self.activity}"

    @property
    def is_possible(self) -> bool:
        """Whether there is such a cell: ways to what only connects are those to what it connects to."""
        return self.fault not in NETWORK or self.process not in ONLY_CLIENTS

    @property
    def needs_proxies(self) -> bool:
        """Whether what passes between the processes has to go through proxies."""
        return self.fault in NETWORK

    @property
    def load_may_fail(self) -> bool:
        """Whether the fault takes away what a load needs; the panel's other processes must not cost a run."""
        return self.process in (*SERVERS, "generator")


def chosen(faults: tuple[str, ...], processes: tuple[str, ...], activities: tuple[str, ...]) -> Iterator[Cell]:
    """Every possible cell of these; a process is struck seldom enough to be started again each time."""
    for fault in faults:
        for activity in activities:
            for process in processes:
                if (cell := Cell(fault, process, activity)).is_possible:
                    yield cell


def quick() -> list[Cell]:
    """Return few cells that take about two minutes."""
    return [Cell(*one) for one in QUICK]
