"""Observes once a second the processor time of a load on a host by SSH, and of what it goes through on this machine.

The figures are those of `benchmarks.runs.observers.generator`; a question to the host over the kept login takes one
small answer each second.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.models import ObservationKind
from benchmarks.processes.host_processes import HostProcesses, HostTimesThere, ProcessTimes
from benchmarks.runs.observers import contention, procfs, ticker
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from benchmarks.runs.observers.contention import OwnProcess, ProcessorTimes
from benchmarks.runs.observers.generator import FIRST_OBSERVATIONS, LIST_AGAIN_S, Figures, Reading, figures
from benchmarks.runs.observers.procfs import HostTimes


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Put observations of the generator's host into the events; none where the load is on this machine."""
    host = None if context.pid else context.home.processes(sorted(contention.SERVERS))
    if host is None:
        yield
        return
    with ticker.every_second("the generator's host", _GeneratorHost(context, host).observe, host.close):
        yield


class _GeneratorHost:
    """The load's processes and those of servers there, between two observations."""

    def __init__(self, context: LoadContext, host: HostProcesses) -> None:
        self.context, self.host = context, host
        self.load: tuple[int, ...] = ()
        self.listed_at, self.observations = 0.0, 0
        self.before: Reading | None = None
        self.times: ProcessorTimes | None = None

    def observe(self) -> None:
        """Put the processor time since the last observation; the first call only reads."""
        is_listing = self.observations < FIRST_OBSERVATIONS or time.monotonic() - self.listed_at > LIST_AGAIN_S
        times = self.host.list_all() if is_listing else self.host.of(self.load)
        if times is None:  # the connection was lost, which ends the load
            return
        self.observations += 1
        others: Figures = {}
        if is_listing:
            self.listed_at = time.monotonic()
            self.load = tuple(one.pid for one in times.processes if _is_load(one))
            others = self._contention(times)
        now = self._reading(times)
        if self.before and now.load:
            observed = figures(self.before, now, self.host.cores)
            self.context.put(ObservedFigures(ObservationKind.GENERATOR, now.at, observed | others))
        self.before = now

    def _contention(self, times: HostTimesThere) -> Figures:
        """Return the processor time of others since the last list; empty where the account can't see them."""
        if not self.host.sees_all:
            return {}
        before, self.times = self.times, processor_times(times)
        return contention.figures(before, self.times) if before else {}

    def _reading(self, times: HostTimesThere) -> Reading:
        load = [one for one in times.processes if one.pid in self.load]
        return Reading(
            time.monotonic(),
            {one.pid: one.seconds for one in load},
            sum(one.threads for one in load),
            host_times(times),
            {pid: used for pid, (used, _) in procfs.process_times(self.context.probe.pooler_pids)},
        )


def _is_load(process: ProcessTimes) -> bool:
    """Test whether it is of the load's group, but not the shell that leads the group and waits for its end."""
    return process.name not in contention.SERVERS and process.pid != process.group


def processor_times(times: HostTimesThere) -> ProcessorTimes:
    """Return processor time by user: our own processes are the load's and those of servers."""
    host = host_times(times)
    own_processes = {
        (one.pid, one.started): OwnProcess(one.seconds + one.of_children, one.parent) for one in times.processes
    }
    return ProcessorTimes(host.worked, host.stolen, host.total, own_processes)


def host_times(times: HostTimesThere) -> HostTimes:
    """Return the host's processor times as they are read on this machine."""
    worked = times.user + times.nice + times.system
    total = worked + times.idle + times.waiting + times.interrupts + times.stolen
    return HostTimes(times.idle, times.waiting, total, worked=worked, stolen=times.stolen)
