"""Figures of this host and its processes, by psutil: processor times, memory, disks, processes and their children."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

BLOCK_DEVICES = Path("/sys/block")
MADE_OF_OTHERS = ("loop", "ram", "zram", "dm-", "md", "sr")  # devices that are no disk, or whose disks are counted


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


def family(pid: int) -> Iterator[int]:
    """Yield a process and all its descendants, whatever their groups."""
    yield pid
    with suppress(psutil.Error):
        yield from (child.pid for child in psutil.Process(pid).children(recursive=True))
