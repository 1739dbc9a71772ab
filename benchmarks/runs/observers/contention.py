"""Processor time that others took on the load's host: not the load, its other parts, pooler and server, or the panel.

Time stolen by the hypervisor is counted apart. Time of interrupts belongs to nobody and is left out.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from django.utils.translation import gettext as _

from benchmarks.models import Run
from benchmarks.models.conditions import ObservedSummary
from benchmarks.processes import workdir
from benchmarks.processes.host_processes import ProcessTimes
from benchmarks.runs.observers import procfs
from pools.poolers import KINDS

SERVERS = frozenset({"postgres", "redis-server", *(driver.program for driver in KINDS.values())})
PYTHONS = ("python", "celery", "uvicorn")  # beginnings of the names of the panel's own processes
SATURATED_PERCENT = 90.0  # No process waits long for a processor below this share.
STOLEN_PERCENT = 5.0
OURS = (b"panel", b"benchmarks.load_programs")  # in a word of their command lines


Id = tuple[int, float]  # number and start of a process, as numbers are used again


@dataclass(frozen=True)
class OwnProcess:
    """One of our own processes: its processor seconds, those of its ended children among them, and its parent."""

    seconds: float
    parent: int


@dataclass(frozen=True)
class ProcessorTimes:
    """Processor seconds of all cores since the host started, used by processes, stolen and total; and our processes."""

    worked: float
    stolen: float
    total: float
    ours: Mapping[Id, OwnProcess]


def read(
    load: Iterable[int], homes: Collection[str] = (), listed: Mapping[int, ProcessTimes] | None = None
) -> ProcessorTimes:
    """Read the times of all processes, given the load's; takes some milliseconds, so it is called rarely.

    What works in a folder whose name begins like one of `homes` is the load of another part of the same run. `listed`
    are the processes, if they were just read.
    """
    host, load_pids = procfs.host_times(), set(load)
    own_processes = {
        (one.pid, one.started): OwnProcess(one.seconds + one.of_children, one.parent)
        for one in (procfs.processes() if listed is None else listed).values()
        if one.pid in load_pids or one.name in SERVERS or _is_the_panels(one) or (homes and _works_in(one.pid, homes))
    }
    return ProcessorTimes(host.worked, host.stolen, host.total, own_processes)


def homes_of_parts(run: Run) -> tuple[str, ...]:
    """Return the prefixes of the folders in which the other parts of a distributed run work."""
    if run.parent_id is None:
        return ()
    parts = Run.objects.filter(parent=run.parent_id).exclude(pk=run.pk).values_list("pk", flat=True)
    return tuple(f"{workdir.PREFIX}{pk.hex}-" for pk in parts)


def _works_in(pid: int, homes: Collection[str]) -> bool:
    try:
        folder = Path(f"/proc/{pid}/cwd").readlink()
    except OSError:  # it ended, or is not ours to look into
        return False
    return any(part.startswith(home) for part in folder.parts for home in homes)


def _is_the_panels(process: ProcessTimes) -> bool:
    if not process.name.startswith(PYTHONS):
        return False
    try:
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return False
    return any(part in command for part in OURS)


def figures(before: ProcessorTimes, now: ProcessorTimes) -> dict[str, object]:
    """Return `others_percent` and `steal_percent` between two readings; 100 is all cores of the host."""
    total = now.total - before.total
    if total <= 0:
        return {}
    worked = now.worked - before.worked
    others = min(max(0.0, worked - own_processor_seconds(before, now)), worked)
    return {
        "others_percent": round(100 * others / total, 1),
        "steal_percent": round(100 * (now.stolen - before.stolen) / total, 1),
    }


def own_processor_seconds(before: ProcessorTimes, now: ProcessorTimes) -> float:
    """Return the processor seconds of our own processes between two readings.

    The time of a process that ended goes to its parent as a whole, so what was counted before is taken off the parent's
    work. Until the parent asks for it that time is nowhere, so no more is taken off than the parent worked.
    """
    counted_before: dict[int, float] = defaultdict(float)
    for key, own in before.ours.items():
        if key not in now.ours:
            counted_before[own.parent] += own.seconds
    return sum(
        max(0.0, own.seconds - (before.ours[key].seconds if key in before.ours else 0.0) - counted_before[key[0]])
        for key, own in now.ours.items()
    )


def unreliable_because(observed: ObservedSummary, allowed_percent: int) -> str:
    """Return why the figures are unreliable; empty where others took little, or processors were free. 0 allows all."""
    others, stolen = observed.get("others_percent", 0.0), observed.get("steal_percent", 0.0)
    if allowed_percent and stolen > STOLEN_PERCENT:
        return _(
            "the hypervisor took %(stolen)s %% of the processors of the generator's host for others: repeat "
            "it when the machine is quieter"
        ) % {"stolen": f"{stolen:.0f}"}
    if allowed_percent and others > allowed_percent and observed.get("host_cpu_percent", 0.0) > SATURATED_PERCENT:
        return _(
            "others' work took %(others)s %% of the processors of the generator's host, which was "
            "%(busy)s %% busy: repeat it when the machine is quieter, or on another generator"
        ) % {"others": f"{others:.0f}", "busy": f"{observed['host_cpu_percent']:.0f}"}
    return ""
