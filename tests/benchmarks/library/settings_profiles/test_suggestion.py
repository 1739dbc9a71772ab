"""The wizard's proposals keep the rules they are made by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.library.settings_profiles.suggestion import propose
from pools.clusters.memory_budget import MB


def test_the_machine_of_the_published_tuning():
    values = propose(memory_mb=28 * 1024, cpus=8, disk="ssd", max_connections=100).values
    assert values == {
        "max_connections": "100",
        "shared_buffers": "7GB",
        "effective_cache_size": "21GB",
        "work_mem": "168MB",
        "temp_buffers": "8MB",
        "maintenance_work_mem": "1792MB",
        "max_worker_processes": "8",
        "max_parallel_workers": "8",
        "max_parallel_workers_per_gather": "4",
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
        "max_wal_size": "4GB",
        "min_wal_size": "1GB",
        "checkpoint_completion_target": "0.9",
    }


@given(
    memory_mb=st.integers(1024, 1024 * 1024),
    cpus=st.integers(1, 256),
    disk=st.sampled_from(["ssd", "hdd"]),
    max_connections=st.integers(1, 500),
)
def test_the_memory_budget_holds(memory_mb, cpus, disk, max_connections):
    proposal = propose(memory_mb=memory_mb, cpus=cpus, disk=disk, max_connections=max_connections)
    assert proposal.budget.fits
    assert 0.15 <= proposal.budget.settings.shared_buffers / (memory_mb * MB) <= 0.40


def test_a_budget_that_can_not_hold_is_said():
    assert propose(memory_mb=512, cpus=1, disk="hdd", max_connections=5000).budget.fits is False


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"memory_mb": 0}, "0 RAM: use at least 1"),
        ({"cpus": 0}, "0 CPUs: use at least 1"),
        ({"disk": "tape"}, "'tape' is not a kind of disk: choose ssd or hdd"),
        ({"max_connections": 0}, "0 connections: use at least 1"),
    ],
)
def test_what_is_no_machine_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        propose(**{"memory_mb": 1024, "cpus": 1, "disk": "ssd", "max_connections": 100} | wrong)
