"""What the log told is kept with the run, and nothing of a log that was not read whole."""

import time
from pathlib import Path

import pytest

from benchmarks.analysis.latency import store
from benchmarks.analysis.latency.histogram import Histogram
from benchmarks.analysis.latency.log_follower import Follower
from benchmarks.engines.log_files import LoggedTransaction
from benchmarks.errors import Fenced
from benchmarks.models import LatencyHistogram, Run, Sample, Status
from benchmarks.processes import logs
from benchmarks.processes.machines import HomeHere
from tests.benchmarks.records import a_run, the_options

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_are_enough")]


def running(**chosen: object) -> Run:
    return a_run(2, status=Status.RUNNING, attempt=1, options=the_options(percentiles=True, **chosen))


def follower_of(run: Run, home: Path) -> Follower:
    _, follower = store.planned(run, HomeHere(home))
    assert follower is not None
    return follower


def test_a_run_with_percentiles_is_started_with_its_share_and_followed(tmp_path: Path):
    options, follower = store.planned(running(), HomeHere(tmp_path))
    assert follower is not None
    assert (options["sampling_rate"], follower.files.sampling_rate) == (0.1, 0.1)


def test_a_run_without_them_is_not(tmp_path: Path):
    run = a_run(options=the_options(percentiles=False))
    assert store.planned(run, HomeHere(tmp_path)) == (run.options, None)


def test_nothing_is_logged_where_the_disk_would_fill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logs, "can_punch_holes", lambda home: False)
    run = running()
    options, follower = store.planned(run, HomeHere(tmp_path))
    assert follower is not None
    assert (options["percentiles"], options["sampling_rate"]) == (False, None)
    assert follower.broken == f"the file system of {tmp_path.parent} can't free the parts of a log that were read"
    assert store.keep(run, follower, []) == {}


def test_percentiles_histogram_and_late_intervals_are_kept(tmp_path: Path):
    run = running(rate=100.0, sampling_rate=0.5)
    follower, now = follower_of(run, tmp_path), time.time_ns() // 1000
    follower.intervals.end(now)
    follower.intervals.add([LoggedTransaction(now - 1, 2_000, 1_000)] * 100, scheduled=True)
    follower.intervals.end(now + 1_000_000)
    figures = store.keep(run, follower, [2, 4])
    assert figures == {
        **dict.fromkeys(
            ["latency_p50_ms", "latency_p90_ms", "latency_p95_ms", "latency_p99_ms", "latency_p99_9_ms"], 2.0
        ),
        "latency_samples": 100,
        **dict.fromkeys(["service_p50_ms", "service_p95_ms", "service_p99_ms"], 1.0),
    }
    kept, again = LatencyHistogram.objects.get(run=run), Histogram()
    again.add_encoded(kept.encoded)
    assert (kept.count, kept.sampling_rate, again.count) == (100, 0.5, 100)
    shown = Sample.objects.filter(run=run).values_list("seq", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms")
    assert list(shown) == [(2, 2.0, 2.0, 2.0), (4, None, None, None)]


def test_nothing_is_kept_of_a_broken_or_empty_log(tmp_path: Path):
    run = running()
    follower = follower_of(run, tmp_path)
    assert store.keep(run, follower, []) == {}
    follower.intervals.add([LoggedTransaction(1, 1)])
    follower.broken = "the log of transactions can't be read"
    assert store.keep(run, follower, []) == {}
    assert not LatencyHistogram.objects.exists()


def test_an_attempt_that_ended_elsewhere_keeps_nothing(tmp_path: Path):
    run = running()
    follower = follower_of(run, tmp_path)
    follower.intervals.add([LoggedTransaction(1, 1)])
    Run.objects.filter(pk=run.pk).update(status=Status.LOST)
    with pytest.raises(Fenced):
        store.keep(run, follower, [])
    assert not LatencyHistogram.objects.exists()


def test_a_histogram_that_a_program_printed_is_kept_as_one_of_the_panels():
    run = a_run()
    figures = store.keep_printed(run, [(0.5, 98), (2.0, 1), (1e12, 1)])
    kept = LatencyHistogram.objects.get(run=run)
    assert (kept.count, kept.sampling_rate) == (100, 1.0)
    assert (figures["latency_p50_ms"], figures["latency_p99_ms"], figures["latency_samples"]) == (0.5, 2.0, 100)


def test_of_a_program_that_printed_none_nothing_is_kept():
    run = a_run()
    assert store.keep_printed(run, []) == {}
    assert not LatencyHistogram.objects.filter(run=run).exists()
