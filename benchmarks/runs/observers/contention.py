"""What others took of the load's host: work that is neither the load's, nor its pooler's and server's, nor the panel's.

Time that the hypervisor stole stands apart. Ticks of interrupts are nobody's, and are left out.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.runs.observers import procfs
from benchmarks.runs.observers.procfs import PROC, TICKS_PER_S

SERVERS = frozenset({"postgres", "pgbouncer", "pgpool", "redis-server"})
PYTHONS = ("python", "celery", "uvicorn")  # how the names of the panel's own processes begin
SATURATED_PERCENT = 90.0  # below, nobody waits long for a processor
STOLEN_PERCENT = 5.0
OURS = (b"panel", b"benchmarks.load_programs")


@dataclass(frozen=True)
class Crowd:
    """Seconds of all cores since the host started: given to processes, stolen, all there were; and those of ours."""

    worked: float
    stolen: float
    total: float
    ours: float


def read(load: Iterable[int]) -> Crowd:
    """A look at all processes: some milliseconds, so it is made now and then only. `load`: the load's processes."""
    host, mine = procfs.host_times((PROC / "stat").read_text()), set(load)
    ours = sum(_seconds(folder, mine) for folder in PROC.iterdir() if folder.name.isdigit())
    return Crowd(host.worked / TICKS_PER_S, host.stolen / TICKS_PER_S, host.total / TICKS_PER_S, ours)


def _seconds(folder: Path, load: set[int]) -> float:
    """Processor seconds of a process that is ours, its children that ended included; 0 of another."""
    with suppress(OSError):
        name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
        fields = rest.split()
        if int(folder.name) in load or name in SERVERS or _is_the_panels(folder, name):
            return sum(int(word) for word in fields[11:15]) / TICKS_PER_S
    return 0.0


def _is_the_panels(folder: Path, name: str) -> bool:
    if not name.startswith(PYTHONS):
        return False
    line = (folder / "cmdline").read_bytes()
    return any(part in line for part in OURS)


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
