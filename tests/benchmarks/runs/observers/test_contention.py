"""What others took of the load's host, and when that makes a run suspect."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.models import Run
from benchmarks.runs.observers import contention
from benchmarks.runs.observers.contention import OwnProcess, ProcessorTimes

SERVER, BACKEND, WORKER = (10, 1.0), (11, 2.0), (20, 3.0)
BEFORE = ProcessorTimes(
    worked=100.0, stolen=0.0, total=200.0, ours={SERVER: OwnProcess(20.0, 1), BACKEND: OwnProcess(30.0, SERVER[0])}
)
BUSY = {"host_cpu_percent": 99.0}


def test_what_is_nobodys_of_ours_is_others() -> None:
    now = ProcessorTimes(worked=119.0, stolen=1.0, total=220.0, ours={**BEFORE.ours, SERVER: OwnProcess(23.0, 1)})
    assert contention.figures(BEFORE, now) == {"others_percent": 80.0, "steal_percent": 5.0}
    assert contention.figures(BEFORE, BEFORE) == {}


def test_time_of_our_ended_processes_is_no_work_of_others() -> None:
    """Those of a server that was stopped beside the run were taken for 1,784 % of the host."""
    stopped = ProcessorTimes(worked=102.0, stolen=0.0, total=220.0, ours={WORKER: OwnProcess(1.5, 1)})
    assert contention.figures(BEFORE, stopped)["others_percent"] == 2.5
    # of the backend 31
    inherited = ProcessorTimes(worked=102.0, stolen=0.0, total=220.0, ours={SERVER: OwnProcess(51.5, 1)})
    assert contention.own_processor_seconds(BEFORE, inherited) == 1.5


def test_an_ended_process_that_nobody_waited_for_yet_takes_no_time_off_others() -> None:
    """All work of the host was taken for that of others while a stopped worker was a zombie."""
    unwaited = ProcessorTimes(
        worked=104.0, stolen=0.0, total=220.0, ours={SERVER: OwnProcess(20.5, 1), WORKER: OwnProcess(3.0, 1)}
    )
    assert contention.own_processor_seconds(BEFORE, unwaited) == 3.0
    assert contention.figures(BEFORE, unwaited)["others_percent"] == 5.0


@pytest.mark.parametrize(
    ("found", "allowed", "begins"),
    [
        (
            BUSY | {"others_percent": 78.0},
            25,
            "others' work took 78 % of the processors of the",
        ),
        (BUSY | {"others_percent": 20.0}, 25, ""),
        ({"host_cpu_percent": 60.0, "others_percent": 50.0}, 25, ""),
        (BUSY | {"steal_percent": 12.0}, 25, "the hypervisor took 12 % of the processors"),
        (BUSY | {"others_percent": 78.0, "steal_percent": 12.0}, 0, ""),
        ({}, 25, ""),
    ],
)
def test_a_run_is_suspect_where_others_kept_a_busy_host_from_it(
    found: dict[str, float], allowed: int, begins: str
) -> None:
    reported = contention.unreliable_because(found, allowed)
    assert reported.startswith(begins)
    assert bool(reported) == bool(begins)


def test_a_stranger_at_work_is_seen_and_the_load_is_not_taken_for_one() -> None:
    words = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(words) as stranger, subprocess.Popen(words) as load:
        try:
            before = contention.read([load.pid])
            time.sleep(2)
            now = contention.read([load.pid])
        finally:
            stranger.kill()
            load.kill()
    assert contention.own_processor_seconds(before, now) > 0.2
    others = contention.figures(before, now)["others_percent"]
    assert isinstance(others, float)
    assert others > 5


@pytest.mark.django_db
def test_the_load_of_another_part_of_the_run_is_no_work_of_others(tmp_path: Path) -> None:
    """Each of two generators of one host called its part suspect for the other's load."""
    whole = Run.objects.enqueue(wanted_generators=["east", "west"])
    part, other = (Run.objects.enqueue(parent=whole, generator=name) for name in ("east", "west"))
    folder = tmp_path / f"pooldeck-run-{other.pk.hex}-1-abc"
    folder.mkdir()
    load = subprocess.Popen(["sleep", "60"], cwd=folder)
    try:
        homes = contention.homes_of_parts(part)
        assert any(pid == load.pid for pid, _started in contention.read((), homes).ours)
        assert not any(pid == load.pid for pid, _started in contention.read(()).ours)
        assert contention.homes_of_parts(whole) == ()
    finally:
        load.kill()
        load.wait()
