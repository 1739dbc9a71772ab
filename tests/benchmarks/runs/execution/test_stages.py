"""The figures of a load with stages: sums and means over all of them, and what they must not be."""

from benchmarks.engines.base import Progress
from benchmarks.models.summaries import StageSummary
from benchmarks.runs.execution import stages

FIRST: StageSummary = {
    "clients": 1,
    "duration_s": 10,
    "began_s": 0.0,
    "transactions": 1000,
    "tps": 100.0,
    "latency_avg_ms": 10.0,
    "failed": 0,
}
SECOND: StageSummary = {
    "clients": 4,
    "duration_s": 30,
    "began_s": 10.1,
    "transactions": 9000,
    "tps": 300.0,
    "latency_avg_ms": 13.0,
    "lag_avg_ms": 1.0,
    "failed": 1000,
}


def test_throughput_is_of_all_transactions_in_all_the_time_and_never_a_sum() -> None:
    assert stages.totals_of([FIRST, SECOND]) == {
        "transactions": 10_000,
        "failed": 1000,
        "failed_percent": 9.091,
        "tps": 250.0,
        "latency_avg_ms": 12.7,
    }


def test_a_figure_that_one_stage_lacks_is_none_of_the_whole() -> None:
    assert "lag_avg_ms" not in stages.totals_of([FIRST, SECOND])
    assert stages.totals_of([SECOND, SECOND])["lag_avg_ms"] == 1.0


def test_a_stage_without_a_transaction_took_its_time_all_the_same() -> None:
    still: StageSummary = {"clients": 1, "duration_s": 10, "began_s": 0.0, "transactions": 0, "failed": 0}
    found = stages.totals_of([still, FIRST])
    assert (found["transactions"], found["tps"]) == (1000, 50.0)
    assert "tps" in stages.totals_of([still])


def test_a_stage_that_was_ended_early_has_the_figures_of_its_intervals() -> None:
    samples = [
        Progress(t=1.0, tps=100.0, latency_ms=2.0, stddev_ms=None, failed=1),
        Progress(t=3.0, tps=250.0, latency_ms=4.0, stddev_ms=None, failed=0),
    ]
    assert stages.of_intervals(samples) == {
        "transactions": 600,
        "tps": 200.0,
        "failed": 1,
        "latency_avg_ms": 3.667,
    }


def test_an_interval_without_a_transaction_adds_its_time() -> None:
    samples = [Progress(t=1.0, tps=0.0, latency_ms=None, stddev_ms=None)]
    assert stages.of_intervals(samples) == {"transactions": 0, "tps": 0.0}
