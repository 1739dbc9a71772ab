"""Linux's /proc (proc(5)) as figures: processor times, memory and disks of this host, processor times of processes."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC, BLOCK_DEVICES = Path("/proc"), Path("/sys/block")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
SECTOR_BYTES = 512  # of /proc/diskstats, whatever the device's own is
MADE_OF_OTHERS = ("loop", "ram", "zram", "dm-", "md", "sr")  # devices that are no disk, or whose disks are counted
KB = 1024


@dataclass(frozen=True)
class HostTimes:
    """Processor time of all cores since the host started, in ticks; `waiting`: idle while a disk worked.

    `worked` was given to processes, interrupts left out; `stolen` the hypervisor gave to others.
    """

    idle: int
    waiting: int
    total: int
    worked: int = 0
    stolen: int = 0


@dataclass(frozen=True)
class DiskBytes:
    """What all disks read and wrote since the host started."""

    read: int
    written: int


def host_times(text: str) -> HostTimes:
    """The first line of /proc/stat; guest time is part of user time there."""
    ticks = [int(word) for word in text.partition("\n")[0].split()[1:9]]
    return HostTimes(ticks[3], ticks[4], sum(ticks), worked=sum(ticks[:3]), stolen=ticks[7])


def memory_bytes(text: str) -> dict[str, int]:
    """/proc/meminfo by its own names."""
    return {name: int(size) * KB for name, size in re.findall(r"^(\w+): +(\d+) kB$", text, re.MULTILINE)}


def disk_bytes(text: str, disks: Iterable[str]) -> DiskBytes:
    """The sums of /proc/diskstats over the named disks."""
    wanted = set(disks)
    rows = [words for line in text.splitlines() if len(words := line.split()) > 9 and words[2] in wanted]
    return DiskBytes(*(sum(int(words[at]) for words in rows) * SECTOR_BYTES for at in (5, 9)))


def disks() -> tuple[str, ...]:
    """The names of this host's disks; partitions are no entries of their own there."""
    try:
        names = sorted(path.name for path in BLOCK_DEVICES.iterdir())
    except OSError:
        return ()
    return tuple(name for name in names if not name.startswith(MADE_OF_OTHERS))


def process_times(text: str) -> tuple[float, int]:
    """Processor seconds of all threads of a process so far, and how many threads it has (/proc/PID/stat)."""
    fields = text.rpartition(")")[2].split()  # the name in brackets may hold anything
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S, int(fields[17])


def family(pid: int) -> Iterator[int]:
    """A process and all that it started, itself or through others, whatever their groups are."""
    pids = [pid]
    for one in pids:
        yield one
        with suppress(OSError):
            for task in (PROC / str(one) / "task").iterdir():
                pids.extend(int(word) for word in (task / "children").read_text().split())
