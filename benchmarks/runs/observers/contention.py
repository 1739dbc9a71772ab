"""Processor time that others took on the load's host: not the load, its pooler and server, or the panel.

Time stolen by the hypervisor is counted apart. Time of interrupts belongs to nobody and is left out.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil
from django.utils.translation import gettext as _

from benchmarks.runs.observers import procfs

SERVERS = frozenset({"postgres", "pgbouncer", "pgpool", "haproxy", "redis-server"})
PYTHONS = ("python", "celery", "uvicorn")  # how the names of the panel's own processes begin
SATURATED_PERCENT = 90.0  # below, no process waits long for a processor
STOLEN_PERCENT = 5.0
OURS = ("panel", "benchmarks.load_programs")


@dataclass(frozen=True)
class Crowd:
    """Processor seconds of all cores since the host started: used by processes, stolen, total; and those of our own."""

    worked: float
    stolen: float
    total: float
    ours: float


def read(load: Iterable[int]) -> Crowd:
    """Read the times of all processes, given the load's; takes some milliseconds, so it is called rarely."""
    host, mine = procfs.host_times(), set(load)
    ours = sum(_seconds(process, mine) for process in psutil.process_iter())
    return Crowd(host.worked, host.stolen, host.total, ours)


def _seconds(process: psutil.Process, load: set[int]) -> float:
    """Return the processor seconds of one of our own processes with its ended children; 0 for any other."""
    with suppress(psutil.Error), process.oneshot():
        name = process.name()
        if process.pid in load or name in SERVERS or _is_the_panels(process, name):
            return sum(process.cpu_times()[:4])
    return 0.0


def _is_the_panels(process: psutil.Process, name: str) -> bool:
    return name.startswith(PYTHONS) and any(part in word for word in process.cmdline() for part in OURS)


def figures(before: Crowd, now: Crowd) -> dict[str, object]:
    """Return `others_percent` and `steal_percent` between two readings; 100 is all cores of the host."""
    total = now.total - before.total
    if total <= 0:
        return {}
    others = (now.worked - before.worked) - (now.ours - before.ours)
    return {
        "others_percent": round(100 * max(0.0, others) / total, 1),
        "steal_percent": round(100 * (now.stolen - before.stolen) / total, 1),
    }


def doubt(found: dict[str, float], allowed_percent: int) -> str:
    """Return why the figures are unreliable; empty where others took little, or processors were free. 0 allows all."""
    others, stolen = found.get("others_percent", 0.0), found.get("steal_percent", 0.0)
    if allowed_percent and stolen > STOLEN_PERCENT:
        return _(
            "the hypervisor took %(stolen)s %% of the processors of the generator's host for others: repeat "
            "it when the machine is quieter"
        ) % {"stolen": f"{stolen:.0f}"}
    if allowed_percent and others > allowed_percent and found.get("host_cpu_percent", 0.0) > SATURATED_PERCENT:
        return _(
            "others' work took %(others)s %% of the processors of the generator's host, which was "
            "%(busy)s %% busy: repeat it when the machine is quieter, or on another generator"
        ) % {"others": f"{others:.0f}", "busy": f"{found['host_cpu_percent']:.0f}"}
    return ""
