"""Percentiles of real loads: what pgbench logged, against what it printed itself."""

from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest

from benchmarks.analysis.latency.histogram import Histogram
from benchmarks.models import LatencyHistogram, Run, Status
from benchmarks.processes import logs
from pools.models import Cluster, Pool
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.conftest import Submit, execute, short
from tests.live.conftest import APP_ROLE

pytestmark = [
    pytest.mark.usefixtures("few_are_enough"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process"),
]
NAMES = ("p50", "p90", "p95", "p99", "p99_9")


def histogram_of(run: Run) -> Histogram:
    """The run's histogram, read back from its row."""
    histogram = Histogram()
    histogram.add_encoded(LatencyHistogram.objects.get(run=run).encoded)
    return histogram


def test_a_run_that_logs_everything_has_every_latency_in_its_histogram(submit: Submit) -> None:
    run = execute(submit(duration=2, percentiles=True, sampling_rate=1, builtin="select-only"))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert run.summary["latency_samples"] == run.summary["transactions"] == histogram_of(run).count
    figures = [run.summary[f"latency_{name}_ms"] for name in NAMES]
    assert figures == sorted(figures)
    assert figures == list(histogram_of(run).percentiles_ms().values())
    mean_ms = sum((bar.from_ms * bar.to_ms) ** 0.5 * bar.count for bar in histogram_of(run).bars(100)) / sum(
        bar.count for bar in histogram_of(run).bars(100)
    )
    assert mean_ms == pytest.approx(run.summary["latency_avg_ms"], rel=0.05)


def test_every_interval_has_percentiles_of_its_own_in_the_end(submit: Submit) -> None:
    run = execute(submit(duration=5, percentiles=True, sampling_rate=1))
    samples = [sample for sample in run.samples.all() if sample.tps > 10]  # a disk may stall for a whole second
    assert len(samples) >= 3
    for sample in samples:
        assert sample.latency_p50_ms <= sample.latency_p95_ms <= sample.latency_p99_ms
        assert sample.latency_p50_ms < 3 * sample.latency_ms


def test_the_share_is_chosen_by_itself_and_learns_from_the_last_run(submit: Submit) -> None:
    first = execute(submit(duration=2, rate=None))
    share = LatencyHistogram.objects.get(run=first).sampling_rate
    assert 0.1 <= share < 1  # of an unknown target 0.1, more where its first round trip was slow
    assert f"--sampling-rate={share}" in first.command
    tps = first.summary["tps"]
    count = first.summary["transactions"]
    deviation = (share * (1 - share) * count) ** 0.5
    assert abs(first.summary["latency_samples"] - share * count) < 6 * deviation + 1
    second = execute(submit(duration=2, rate=None))
    asked = [f"--sampling-rate={2_000 / tps:.4f}".rstrip("0")] if tps > 2_000 else []  # a slow machine: log them all
    assert [word for word in second.command if word.startswith("--sampling-rate")] == asked


def test_under_a_rate_the_time_of_service_is_told_beside_the_time_since_the_schedule(submit: Submit) -> None:
    run = execute(submit(duration=3, rate=300, clients=2, latency_limit=50))
    assert "--sampling-rate" not in " ".join(run.command)
    figures = run.summary
    assert figures["latency_samples"] == figures["transactions"]
    assert 0 < figures["service_p50_ms"] < figures["latency_p50_ms"]
    assert figures["lag_avg_ms"] > 0


def test_a_run_without_percentiles_writes_no_log(submit: Submit) -> None:
    run = execute(submit(duration=2, percentiles=False))
    assert "-l" not in run.command
    assert "latency_p50_ms" not in run.summary
    assert not LatencyHistogram.objects.filter(run=run).exists()
    assert set(run.samples.values_list("latency_p50_ms", flat=True)) == {None}


def test_where_the_disk_would_fill_the_run_goes_on_and_says_what_it_lacks(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "can_punch_holes", lambda home: False)
    run = execute(submit(duration=2))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert "-l" not in run.command
    assert "(percentiles are left out: the file system of " in run.output.stderr


def test_no_log_is_left_behind(submit: Submit) -> None:
    run = execute(submit(duration=2))
    assert list(Path(gettempdir()).glob(f"pooldeck-run-{run.pk.hex}*")) == []


@pytest.fixture
def ask(cluster: Cluster, dataset: str) -> Submit:
    """Submits a short run of a script of one's own, as the role `app`."""

    def submit_run(pool: Pool | None = None, **options: Any) -> Run:
        target = {"cluster": str(cluster.pk), "database": dataset, "user": APP_ROLE}
        return submit_one(target=target, options=short(**options), author=None)

    return submit_run


def test_a_script_of_ones_own_is_logged_out_of_its_sandbox(ask: Submit) -> None:
    run = execute(ask(duration=2, scripts=[{"text": "SELECT 1;\n"}], sampling_rate=1))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert run.summary["latency_samples"] == run.summary["transactions"] > 0


def test_failed_transactions_are_no_latencies(ask: Submit) -> None:
    failing = "DO $$BEGIN IF random() < 0.2 THEN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END IF; END$$;\n"
    run = execute(ask(duration=2, scripts=[{"text": failing}], sampling_rate=1, failures_detailed=True))
    assert run.summary["failed"] == run.summary["serialization_failures"] > 0
    assert run.summary["latency_samples"] == run.summary["transactions"]


def test_a_run_that_is_retried_is_read_with_its_column_of_retries(ask: Submit) -> None:
    failing = "DO $$BEGIN IF random() < 0.2 THEN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END IF; END$$;\n"
    run = execute(ask(duration=2, scripts=[{"text": failing}], sampling_rate=1, max_tries=50, rate=200))
    assert run.summary["retries"] > 0
    assert run.summary["latency_samples"] == run.summary["transactions"]
    assert run.summary["service_p50_ms"] < run.summary["latency_p50_ms"]
