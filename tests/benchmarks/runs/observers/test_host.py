"""Figures of a host from two readings of /proc."""

from benchmarks.runs.observers.host import Reading, figures
from benchmarks.runs.observers.procfs import DiskBytes, HostTimes

MEMORY = {"free": 1000, "available": 3000, "cached": 2000}


def reading(at: float, times: HostTimes, disks: DiskBytes = DiskBytes(0, 0)) -> Reading:  # noqa: B008 (frozen)
    return Reading(at, times, MEMORY, disks)


def test_processors_and_disks_are_told_by_what_grew_and_memory_as_it_is():
    before = reading(10.0, HostTimes(idle=100, waiting=10, total=200), DiskBytes(1_000, 5_000))
    now = reading(12.0, HostTimes(idle=150, waiting=30, total=400), DiskBytes(3_000, 5_500))
    assert figures(before, now) == {
        "cpu_percent": 65.0,
        "waiting_percent": 10.0,
        "memory_free_bytes": 1000,
        "memory_available_bytes": 3000,
        "page_cache_bytes": 2000,
        "read_bytes_per_s": 1000,
        "written_bytes_per_s": 250,
    }


def test_idle_time_that_runs_backwards_makes_no_share_below_nothing():
    found = figures(reading(1.0, HostTimes(100, 50, 200)), reading(2.0, HostTimes(320, 40, 400)))
    assert (found["cpu_percent"], found["waiting_percent"]) == (0.0, 0.0)


def test_a_clock_that_stood_still_has_no_share():
    found = figures(reading(1.0, HostTimes(1, 1, 2)), reading(2.0, HostTimes(1, 1, 2)))
    assert (found["cpu_percent"], found["waiting_percent"]) == (None, None)
