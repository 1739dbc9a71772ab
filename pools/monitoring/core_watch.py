"""The use of their one core by the poolers of this host since the last poll, by whichever worker made that.

A reading is two small files of each process, and nothing waits for a second one: the first lies in Redis, where the
next poll finds it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns as now_ns
from uuid import UUID

from pools.config_files import deliveries
from pools.models import Pooler
from pools.monitoring import redis_store
from pools.poolers import KINDS, core_times
from pools.poolers.pool_queue import CoreUse

KEPT_S = 120  # An older reading tells of a time that is over.
SHORTEST_NS = 1e9
Reading = dict[str, list[int]]  # pid → time of the reading and the two of `core_times`, in nanoseconds


@dataclass(frozen=True)
class ProcessUse:
    """The use of a core by the busiest process of a pooler."""

    pid: int
    use: CoreUse


def uses_of(poolers: Iterable[Pooler]) -> dict[UUID, ProcessUse]:
    """Return the use of each pooler's busiest process since the last poll; those without two readings are left out.

    Left out too: kinds that use several cores, and processes on other hosts. Raises `SharingDown`.
    """
    pids = {pooler.pk: found for pooler in poolers if (found := _pids(pooler))}
    if not pids or not (key := _key()):
        return {}
    before: Reading = redis_store.read(key) or {}
    now = {str(pid): read for found in pids.values() for pid in found if (read := _reading(pid))}
    redis_store.keep(key, now, KEPT_S)
    busiest = ((pk, _busiest(found, before, now)) for pk, found in pids.items())
    return {pk: one for pk, one in busiest if one is not None}


def _pids(pooler: Pooler) -> list[int]:
    """Return the processes of a pooler on this host that the last check found and that run still."""
    program = KINDS[pooler.kind].one_core_program
    if not program or not deliveries.of(pooler).runs_here:
        return []
    known = (row["pid"] for row in pooler.processes)
    return [pid for pid in known if pid is not None and core_times.is_program(pid, program)]


def _reading(pid: int) -> list[int] | None:
    times = core_times.of_process(pid)
    return [now_ns(), *times] if times else None


def _busiest(pids: Iterable[int], before: Mapping[str, list[int]], now: Mapping[str, list[int]]) -> ProcessUse | None:
    found = []
    for pid in pids:
        (first, second) = before.get(str(pid)), now.get(str(pid))
        if first and second and (use := _between(first, second)):
            found.append(ProcessUse(pid, use))
    return max(found, key=lambda one: one.use.wanted, default=None)


def _between(first: list[int], second: list[int]) -> CoreUse | None:
    """Return the use between two readings; None for two of one moment, or where another process has the number."""
    (at, *before), (then, *after) = first, second
    if then - at < SHORTEST_NS or after[0] < before[0] or after[1] < before[1]:
        return None
    return core_times.between(before, after, then - at)


def _key() -> str:
    """Return a key of the processes that can be seen here, whose numbers name others elsewhere; empty without /proc."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"core:{boot}:{Path('/proc/self/ns/pid').readlink()}"
    return ""
