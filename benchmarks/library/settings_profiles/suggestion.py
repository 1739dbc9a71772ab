"""Suggests a profile for a machine, by published rules: a starting point for measurements, not a promise; pure.

The rules: shared_buffers 25 to 40 % of the RAM, and max_connections × work_mem + shared_buffers + temp_buffers +
maintenance_work_mem + the operating system ≤ RAM. Prepared transactions, where used at all, need as many slots as there
are connections. Planner costs follow the disk: on SSDs, random reads cost about as much as sequential ones.
"""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.clusters.memory_budget import GB, KB, MB, MemoryBudget, Settings, pretty

SSD, HDD = "ssd", "hdd"
DISKS = {SSD: gettext_lazy("solid state"), HDD: gettext_lazy("spinning")}
SHARED = 0.25
MAINTENANCE, MOST_MAINTENANCE = 0.0625, 2 * GB
LEAST_WORK_MEM, MOST_WORK_MEM = 64 * KB, 512 * MB
TEMP_BUFFERS = 8 * MB
COSTS = {SSD: ("1.1", "200"), HDD: ("4", "2")}  # random_page_cost, effective_io_concurrency
WAL = {SSD: ("4GB", "1GB"), HDD: ("2GB", "512MB")}  # max_wal_size, min_wal_size


@dataclass(frozen=True)
class Proposal:
    """Settings by name, and the memory budget with them."""

    values: dict[str, str]
    budget: MemoryBudget


def propose(
    *, memory_mb: int, cpus: int, disk: str, max_connections: int, prepared_transactions: bool = False
) -> Proposal:
    """Return a profile for a dedicated server; `disk` is `ssd` or `hdd`. Raises ValueError for impossible machines."""
    for text, number in (
        (_("%(number)s RAM: use at least 1"), memory_mb),
        (_("%(number)s CPUs: use at least 1"), cpus),
        (_("%(number)s connections: use at least 1"), max_connections),
    ):
        if number < 1:
            raise ValueError(text % {"number": number})
    if disk not in DISKS:
        raise ValueError(
            _("%(disk)s is not a kind of disk: choose %(disks)s") % {"disk": repr(disk), "disks": " or ".join(DISKS)}
        )
    memory = memory_mb * MB
    shared = _whole(memory * SHARED)
    maintenance = _whole(min(memory * MAINTENANCE, MOST_MAINTENANCE))
    settings = Settings(max_connections, LEAST_WORK_MEM, shared, TEMP_BUFFERS, maintenance)
    budget = MemoryBudget(settings, memory)
    work = _work_mem(budget, max_connections)
    budget = MemoryBudget(Settings(max_connections, work, shared, TEMP_BUFFERS, maintenance), memory)
    values = {
        "max_connections": str(max_connections),
        "shared_buffers": pretty(shared),
        "effective_cache_size": pretty(_whole(memory * 0.75)),
        "work_mem": pretty(work),
        "temp_buffers": pretty(TEMP_BUFFERS),
        "maintenance_work_mem": pretty(maintenance),
        "max_worker_processes": str(max(8, cpus)),
        "max_parallel_workers": str(cpus),
        "max_parallel_workers_per_gather": str(min(4, cpus // 2)),
        "random_page_cost": COSTS[disk][0],
        "effective_io_concurrency": COSTS[disk][1],
        "max_wal_size": WAL[disk][0],
        "min_wal_size": WAL[disk][1],
        "checkpoint_completion_target": "0.9",
    }
    if prepared_transactions:
        values["max_prepared_transactions"] = str(max_connections)
    return Proposal(values, budget)


def _work_mem(budget: MemoryBudget, max_connections: int) -> int:
    """Return the memory left for each connection, at least PostgreSQL's minimum."""
    free = (budget.memory or 0) - sum(term.size for term in budget.terms[1:])
    each = min(MOST_WORK_MEM, max(LEAST_WORK_MEM, free // max_connections))
    return each // MB * MB if each >= MB else each // (64 * KB) * (64 * KB)


def _whole(size: float) -> int:
    step = 256 * MB if size >= GB else MB
    return max(1, int(size // step)) * step
