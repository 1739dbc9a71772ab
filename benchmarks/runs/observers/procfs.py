"""Figures of this host and its processes: processor times, memory, disks, processes and their children.

By psutil, but for the list of all processes: psutil asks each for its name, start, parent and times one after the
other, which takes three times as long as one reading of /proc while a load has the processors.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.processes import host_processes
from benchmarks.processes.host_processes import ProcessTimes

BLOCK_DEVICES = Path("/sys/block")
MADE_OF_OTHERS = ("loop", "ram", "zram", "dm-", "md", "sr")  # devices that are no disk, or whose disks are counted
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STAT_BYTES = 1_024


@dataclass(frozen=True)
class HostTimes:
    """Processor seconds of all cores since the host started.

    `waiting` is idle time while a disk worked, `worked` time of processes without interrupts, `stolen` time that the
    hypervisor gave to others.
    """

    idle: float
    waiting: float
    total: float
    worked: float = 0
    stolen: float = 0


@dataclass(frozen=True)
class DiskBytes:
    """Bytes read and written by all disks since the host started."""

    read: int
    written: int


def host_times() -> HostTimes:
    """Read the host's processor times; guest time is part of user time there (proc(5))."""
    now = psutil.cpu_times()
    worked = now.user + now.nice + now.system
    total = worked + now.idle + now.iowait + now.irq + now.softirq + now.steal
    return HostTimes(now.idle, now.iowait, total, worked=worked, stolen=now.steal)


def memory_bytes() -> dict[str, int]:
    """Read the host's memory: `free`, `available` to programs, and `cached` pages of files."""
    now = psutil.virtual_memory()
    return {"free": now.free, "available": now.available, "cached": now.cached}


def disk_bytes(disks: Iterable[str]) -> DiskBytes:
    """Sum up the named disks."""
    counters = psutil.disk_io_counters(perdisk=True, nowrap=False)
    counted = [counters[name] for name in disks if name in counters]
    return DiskBytes(sum(one.read_bytes for one in counted), sum(one.write_bytes for one in counted))


def disks() -> tuple[str, ...]:
    """Return the names of this host's disks; partitions have no entries of their own."""
    try:
        names = sorted(path.name for path in BLOCK_DEVICES.iterdir())
    except OSError:
        return ()
    return tuple(name for name in names if not name.startswith(MADE_OF_OTHERS))


def process_times(pids: Iterable[int]) -> Iterator[tuple[int, tuple[float, int]]]:
    """Yield (pid, (processor seconds of all threads, number of threads)); ended processes are left out."""
    for pid in pids:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            with process.oneshot():
                times = process.cpu_times()
                yield pid, (times.user + times.system, process.num_threads())


def processes() -> dict[int, ProcessTimes]:
    """Read all processes of this host, by pid; those that end meanwhile are left out."""
    return {pid: found for pid in psutil.pids() if (found := _process(pid))}


def _process(pid: int) -> ProcessTimes | None:
    with suppress(OSError):
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return host_processes.of_stat(os.read(descriptor, STAT_BYTES).decode(errors="replace"), TICKS_PER_S)
        finally:
            os.close(descriptor)
    return None


def family(pid: int, listed: Mapping[int, ProcessTimes] | None = None) -> Iterator[int]:
    """Yield a process and all its descendants, whatever their groups; `listed` are the processes, if they are known."""
    children: dict[int, list[int]] = defaultdict(list)
    for one in (processes() if listed is None else listed).values():
        children[one.parent].append(one.pid)
    found = [pid]
    for one_pid in found:
        yield one_pid
        found += children[one_pid]
