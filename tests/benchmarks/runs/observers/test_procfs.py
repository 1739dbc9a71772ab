"""What is read of this host and its processes, against what the kernel says."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from benchmarks.runs.observers import procfs


def test_the_host_s_times_are_those_of_the_kernel_and_guests_are_not_counted_twice():
    found = procfs.host_times()
    ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    assert found.total == pytest.approx(sum(ticks) / os.sysconf("SC_CLK_TCK"), rel=0.01)
    assert found.worked == pytest.approx(sum(ticks[:3]) / os.sysconf("SC_CLK_TCK"), rel=0.01)
    assert found.total >= found.idle + found.waiting + found.worked + found.stolen


def test_memory_is_told_in_bytes():
    found = procfs.memory_bytes()
    total = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())[1]) * 1024
    assert 0 < found["free"] <= total
    assert 0 < found["available"] <= total
    assert 0 <= found["cached"] <= total


def test_only_disks_that_are_there_are_summed_up():
    assert procfs.disk_bytes(["no-such-disk"]) == procfs.DiskBytes(0, 0)
    assert procfs.disk_bytes(procfs.disks()).read >= 0


def test_a_process_s_own_seconds_grow_with_its_work_and_one_that_is_gone_is_left_out():
    before = dict(procfs.process_times([os.getpid(), 2**22 + 1]))
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    after = dict(procfs.process_times([os.getpid()]))
    assert list(before) == [os.getpid()]
    assert after[os.getpid()][0] - before[os.getpid()][0] >= 0.15
    assert after[os.getpid()][1] >= 1


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


def test_all_processes_are_read_with_what_psutil_says_of_each():
    own, listed = psutil.Process(), procfs.processes()
    found = listed[os.getpid()]
    assert (found.pid, found.parent, found.group) == (os.getpid(), own.ppid(), os.getpgid(0))
    assert own.name().startswith(found.name)
    assert found.started + psutil.boot_time() == pytest.approx(own.create_time(), abs=2)
    assert found.seconds <= sum(own.cpu_times()[:2]) + 0.001  # sums of floats
    assert found.threads >= 1
    assert os.getppid() in listed


def test_a_family_is_found_in_a_list_that_was_read_before():
    listed = procfs.processes()
    assert list(procfs.family(os.getpid(), {os.getpid(): listed[os.getpid()]})) == [os.getpid()]
    assert os.getpid() in procfs.family(os.getppid(), listed)
