"""What /proc's files say; the samples are a real host's."""

import os
import subprocess
import sys

from benchmarks.runs.observers import procfs
from benchmarks.runs.observers.procfs import DiskBytes, HostTimes

STAT = (
    "cpu  2255 34 2290 22625563 6290 127 456 0 500 60\ncpu0 1132 34 1441 11311718 3675 127 438 0 0 0\nintr 114930548\n"
)
MEMINFO = (
    "MemTotal:       16307828 kB\nMemFree:         8139560 kB\nCached:          1480328 kB\nHugePages_Total:       0\n"
)
DISKSTATS = """   8       0 sda 5000 10 80000 400 7000 20 160000 900 0 800 1300 0 0 0 0
   8       1 sda1 4000 10 70000 300 7000 20 160000 900 0 700 1200 0 0 0 0
 259       0 nvme0n1 10 0 16 1 20 0 32 2 0 3 4
   7       0 loop0 1 0 99 0 0 0 0 0 0 0 0
"""
PROCESS = "4242 (pg) bench (x) S 1 4242 4242 0 -1 4194304 500 0 0 0 150 50 3 4 20 0 8 0 100 1000000 500 18446744073"


def test_idle_and_waiting_time_are_told_apart_and_guests_are_not_counted_twice():
    assert procfs.host_times(STAT) == HostTimes(22625563, 6290, 22637015, worked=4579, stolen=0)


def test_memory_is_told_in_bytes_by_its_own_names():
    found = procfs.memory_bytes(MEMINFO)
    assert found == {"MemTotal": 16307828 * 1024, "MemFree": 8139560 * 1024, "Cached": 1480328 * 1024}


def test_only_the_named_disks_are_summed_up():
    assert procfs.disk_bytes(DISKSTATS, ["sda", "nvme0n1"]) == DiskBytes(read=80016 * 512, written=160032 * 512)


def test_a_process_whose_name_holds_brackets_is_read():
    assert procfs.process_times(PROCESS) == (200 / procfs.TICKS_PER_S, 8)


def test_a_family_is_a_process_and_all_that_it_started():
    words = "import subprocess, sys; c = subprocess.Popen(['sleep', '30']); print(c.pid, flush=True); c.wait()"
    parent = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True)
    try:
        child = int(parent.stdout.readline())
        assert list(procfs.family(parent.pid)) == [parent.pid, child]
        assert child in procfs.family(os.getpid())
    finally:
        os.kill(child, 9)
        parent.wait(10)
        parent.stdout.close()


def test_a_process_that_is_gone_has_no_family():
    assert list(procfs.family(2**22 + 1)) == [2**22 + 1]
