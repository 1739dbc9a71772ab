"""Observes once a second the processor time of the load, and of what it goes through on this host.

That is the run's PgBouncer, and a service that the engine runs beside its load.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.models import ObservationKind
from benchmarks.processes.command import SERVICE_PID
from benchmarks.processes.host_processes import ProcessTimes
from benchmarks.runs.observers import contention, procfs, ticker
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from benchmarks.runs.observers.contention import ProcessorTimes
from benchmarks.runs.observers.procfs import HostTimes

Figures = dict[str, object]
LIST_AGAIN_S = 5.0  # interval at which new processes of the load are listed
FIRST_OBSERVATIONS = 3  # each lists anew: a sandbox or a shell starts the load a moment after itself


@dataclass(frozen=True)
class Reading:
    """Processor seconds by process at a monotonic time, the load's threads, and the times of its whole host."""

    at: float
    load: dict[int, float]
    threads: int
    host: HostTimes
    poolers: dict[int, float] = field(default_factory=dict)
    service: dict[int, float] = field(default_factory=dict)


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Put observations of the generator into the events."""
    generator = _Generator(context)
    with ticker.every_second("the generator", generator.observe):
        yield


class _Generator:
    """The load's processes between two observations."""

    def __init__(self, context: LoadContext) -> None:
        self.context, self.cores = context, os.cpu_count() or 1
        self.pids: tuple[int, ...] = ()
        self.homes = contention.homes_of_parts(context.run)
        self.service = _pid_in(context.home.here / SERVICE_PID)
        self.listed_at, self.observations = 0.0, 0
        self.before: Reading | None = None
        self.times: ProcessorTimes | None = None

    def observe(self) -> None:
        """Put the processor time since the last observation; the first call only reads."""
        listed = procfs.processes() if self._is_listing() else None
        if listed is not None:
            self.pids, self.listed_at = tuple(procfs.family(self.context.pid, listed)), time.monotonic()
        self.observations += 1
        now = self._read()
        others = {} if listed is None else self._contention(listed)
        if self.before and now.load:
            observed = figures(self.before, now, self.cores) | others
            self.context.put(ObservedFigures(ObservationKind.GENERATOR, now.at, observed))
        self.before = now

    def _is_listing(self) -> bool:
        return self.observations < FIRST_OBSERVATIONS or time.monotonic() - self.listed_at > LIST_AGAIN_S

    def _contention(self, listed: Mapping[int, ProcessTimes]) -> Figures:
        """Return the processor time that other processes took since the last list."""
        before, self.times = self.times, contention.read(self.pids, self.homes, listed)
        return contention.figures(before, self.times) if before else {}

    def _read(self) -> Reading:
        now = time.monotonic()
        load = dict(procfs.process_times(self.pids))
        return Reading(
            now,
            {pid: used for pid, (used, _) in load.items()},
            sum(threads for _, threads in load.values()),
            procfs.host_times(),
            {pid: used for pid, (used, _) in procfs.process_times(self.context.probe.pooler_pids)},
            {pid: used for pid, (used, _) in procfs.process_times(self.service)},
        )


def figures(before: Reading, now: Reading, cores: int) -> Figures:
    """Return the processor use between two readings, in percent of one core.

    `cpu_percent` is the load's, `busy_percent` its share of the cores that its threads can use, `pooler_cpu_percent`
    that of the busiest PgBouncer process, `service_cpu_percent` that of the engine's service. `host_cpu_percent` is of
    all cores.
    """
    elapsed_s = now.at - before.at
    load = sum(_seconds_used(before.load, now.load).values())
    spent_s = now.host.total - before.host.total
    idle = now.host.idle + now.host.waiting - before.host.idle - before.host.waiting
    figures: Figures = {
        "cpu_percent": round(100 * load / elapsed_s, 1),
        "busy_percent": round(100 * load / elapsed_s / max(1, min(now.threads, cores)), 1),
        "threads": now.threads,
        "host_cpu_percent": round(100 * (spent_s - idle) / spent_s, 1) if spent_s > 0 else None,
    }
    if poolers := _seconds_used(before.poolers, now.poolers):
        figures["pooler_cpu_percent"] = round(100 * max(poolers.values()) / elapsed_s, 1)
    if service := _seconds_used(before.service, now.service):
        figures["service_cpu_percent"] = round(100 * sum(service.values()) / elapsed_s, 1)
    return figures


def _seconds_used(before: dict[int, float], now: dict[int, float]) -> dict[int, float]:
    """Return the seconds by live process; one that is new took all of its own."""
    return {pid: used - before.get(pid, 0.0) for pid, used in now.items()}


def _pid_in(path: Path) -> tuple[int, ...]:
    """Return the process that a file names; empty where there is no file."""
    try:
        return (int(path.read_text()),)
    except OSError:
        return ()
