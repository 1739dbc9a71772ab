"""What others took of the load's host: work that is neither the load's, nor its pooler's and server's, nor the panel's.

Time that the hypervisor stole stands apart. Time of interrupts is nobody's, and is left out.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from benchmarks.runs.observers import procfs

SERVERS = frozenset({"postgres", "pgbouncer", "pgpool", "haproxy", "redis-server"})
PYTHONS = ("python", "celery", "uvicorn")  # how the names of the panel's own processes begin
SATURATED_PERCENT = 90.0  # below, nobody waits long for a processor
STOLEN_PERCENT = 5.0
OURS = ("panel", "benchmarks.load_programs")


@dataclass(frozen=True)
class Crowd:
    """Seconds of all cores since the host started: given to processes, stolen, all there were; and those of ours."""

    worked: float
    stolen: float
    total: float
    ours: float


def read(load: Iterable[int]) -> Crowd:
    """Look at all processes: some milliseconds, so it is made now and then only. `load`: the load's processes."""
    host, mine = procfs.host_times(), set(load)
    ours = sum(_seconds(process, mine) for process in psutil.process_iter())
    return Crowd(host.worked, host.stolen, host.total, ours)


def _seconds(process: psutil.Process, load: set[int]) -> float:
    """Processor seconds of a process that is ours, its children that ended included; 0 of another."""
    with suppress(psutil.Error), process.oneshot():
        name = process.name()
        if process.pid in load or name in SERVERS or _is_the_panels(process, name):
            return sum(process.cpu_times()[:4])
    return 0.0


def _is_the_panels(process: psutil.Process, name: str) -> bool:
    return name.startswith(PYTHONS) and any(part in word for word in process.cmdline() for part in OURS)


def figures(before: Crowd, now: Crowd) -> dict[str, object]:
    """`others_percent` and `steal_percent` between two looks; of both 100 is all cores of the host."""
    total = now.total - before.total
    if total <= 0:
        return {}
    others = (now.worked - before.worked) - (now.ours - before.ours)
    return {
        "others_percent": round(100 * max(0.0, others) / total, 1),
        "steal_percent": round(100 * (now.stolen - before.stolen) / total, 1),
    }


def doubt(found: dict[str, float], allowed_percent: int) -> str:
    """Why the figures can't be relied on; empty where others took little, or nothing was short. 0 allows all."""
    others, stolen = found.get("others_percent", 0.0), found.get("steal_percent", 0.0)
    if allowed_percent and stolen > STOLEN_PERCENT:
        return (
            f"the hypervisor took {stolen:.0f} % of the processors of the generator's host for others: repeat it when "
            "the machine is quieter"
        )
    if allowed_percent and others > allowed_percent and found.get("host_cpu_percent", 0.0) > SATURATED_PERCENT:
        return (
            f"others' work took {others:.0f} % of the processors of the generator's host, which was "
            f"{found['host_cpu_percent']:.0f} % busy: repeat it when the machine is quieter, or on another generator"
        )
    return ""
