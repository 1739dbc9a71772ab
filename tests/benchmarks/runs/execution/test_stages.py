"""The figures of a load with stages: sums and means over all of them, and what they must not be."""

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.engines import DEFAULT_ENGINE
from benchmarks.engines.base import Progress
from benchmarks.models import Run, Status, Validity
from benchmarks.models.summaries import StageSummary
from benchmarks.runs.execution import stages
from benchmarks.runs.execution.ending import RateChanged
from benchmarks.runs.execution.recorder import Output

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


ABORTED = "pgbench: error: client 3 aborted in command 5 (SQL) of script 0; perhaps the backend died while processing"


@pytest.mark.parametrize(
    ("line", "failed", "verdict"),
    [("", 0, Validity.VALID), ("", 50, Validity.SUSPECT), (ABORTED, 0, Validity.INCOMPLETE)],
    ids=["nothing wrong", "a third failed", "a client aborted"],
)
def test_a_stage_that_another_rate_ended_is_judged_like_any_other(line: str, failed: int, verdict: Validity) -> None:
    output = Output(10_000)
    output.add("stderr", line)
    samples = [Progress(t=float(t), tps=100.0, latency_ms=1.0, stddev_ms=None, failed=failed) for t in range(1, 6)]
    run = Run(engine=DEFAULT_ENGINE)
    recorder: Any = SimpleNamespace(
        run=run, output=output, stage_samples=samples, stage_began_s=0.0, log_follower=None, sample_seqs=[]
    )
    found = stages.result_of(recorder, {"clients": 10, "duration": 30, "progress": 1}, -15, RateChanged(500.0))
    assert (found.status, found.validity, bool(found.reasons)) == (Status.SUCCEEDED, verdict, verdict != Validity.VALID)
    assert (found.figures["duration_s"], found.figures["transactions"]) == (5, 500)
