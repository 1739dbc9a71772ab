"""Observes the server's host once a second, where the server was found to run on the generator's host."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.models import ObservationKind
from benchmarks.runs.observers import procfs, ticker
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from benchmarks.runs.observers.procfs import DiskBytes, HostTimes

Figures = dict[str, object]


@dataclass(frozen=True)
class Reading:
    """The host's counters at a monotonic time."""

    at: float
    times: HostTimes
    memory: dict[str, int]
    disks: DiskBytes


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Put observations of the host into the events; none where the server is elsewhere."""
    if not context.probe.is_here:
        yield
        return
    host = _Host(context)
    with ticker.every_second("the server's host", host.observe):
        yield


class _Host:
    """The host between two observations."""

    def __init__(self, context: LoadContext) -> None:
        self.context, self.disks = context, procfs.disks()
        self.before: Reading | None = None

    def observe(self) -> None:
        """Put what happened since the last observation; the first call only reads."""
        now = _read(self.disks)
        if self.before:
            self.context.put(ObservedFigures(ObservationKind.HOST, now.at, figures(self.before, now)))
        self.before = now


def figures(before: Reading, now: Reading) -> Figures:
    """Return `cpu_percent` and `waiting_percent` (100: all cores), memory in bytes, disks in bytes/s."""
    spent_s, elapsed_s = now.times.total - before.times.total, now.at - before.at
    waited = now.times.waiting - before.times.waiting
    idle = now.times.idle - before.times.idle + waited
    return {
        "cpu_percent": _share(spent_s - idle, spent_s),
        "waiting_percent": _share(waited, spent_s),
        "memory_free_bytes": now.memory.get("free"),
        "memory_available_bytes": now.memory.get("available"),
        "page_cache_bytes": now.memory.get("cached"),
        "read_bytes_per_s": round((now.disks.read - before.disks.read) / elapsed_s),
        "written_bytes_per_s": round((now.disks.written - before.disks.written) / elapsed_s),
    }


def _share(part: float, total: float) -> float | None:
    """Return a percentage; on some kernels idle time may seem to run backwards."""
    return round(min(100.0, max(0.0, 100 * part / total)), 1) if total > 0 else None


def _read(disks: tuple[str, ...]) -> Reading:
    return Reading(
        time.monotonic(),
        procfs.host_times(),
        procfs.memory_bytes(),
        procfs.disk_bytes(disks),
    )
