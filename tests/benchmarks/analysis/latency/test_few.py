"""A percentile that too few transactions are behind is shown nowhere: below 10 / (1 - p) of them."""

from array import array

import pytest

from benchmarks.analysis.latency.histogram import Histogram, merged
from benchmarks.analysis.latency.intervals import Intervals
from benchmarks.analysis.latency.report import of_run
from benchmarks.engines.log_files import LoggedTransaction
from benchmarks.models import LatencyHistogram
from benchmarks.results.import_output import import_output
from benchmarks.runs.execution import latency_exchange
from benchmarks.runs.execution.latency_exchange import Latencies
from tests.benchmarks.records import a_finished_run
from tests.benchmarks.results.test_pasted_text import SYSBENCH
from tests.callers import bearer

SHOWN_FROM = {"p50": 20, "p90": 100, "p95": 200, "p99": 1_000, "p99_9": 10_000}


def of(count: int) -> Histogram:
    histogram = Histogram()
    histogram.add(range(1, count + 1))
    return histogram


@pytest.mark.parametrize("name", SHOWN_FROM)
def test_a_percentile_is_shown_from_a_number_of_latencies_on(name: str) -> None:
    enough = SHOWN_FROM[name]
    assert name not in of(enough - 1).percentiles_ms()
    assert name in of(enough).percentiles_ms()


def test_weights_of_merged_parts_are_no_latencies() -> None:
    whole = merged([(of(400).encoded(), 400), (of(400).encoded(), 40_000)])
    assert whole.count > 10_000
    assert set(whole.percentiles_ms(800)) == {"p50", "p90", "p95"}


@pytest.mark.parametrize(("count", "shown"), [(19, 0), (20, 1), (347, 2), (1_000, 3)])
def test_an_interval_shows_what_is_behind_it_of_one_load_and_of_several(count: int, shown: int) -> None:
    intervals = Intervals()
    intervals.add([LoggedTransaction(at_us=1_000, latency_us=one + 1, lag_us=0) for one in range(count)])
    assert len(intervals.end(2_000)) == shown
    parts = [Latencies(array("I", range(1, count + 1)), 1.0)]
    assert len(latency_exchange.percentiles(parts)) == shown


@pytest.mark.django_db
def test_a_percentile_that_a_program_printed_of_few_is_left_out_too() -> None:
    assert import_output(SYSBENCH).summary["latency_p99_ms"] == 27.17
    few = import_output(SYSBENCH.replace("  24285  (1213.61", "  347  (1213.61"))
    assert ("latency_p95_ms" in few.summary, "latency_p99_ms" in few.summary) == (True, False)


@pytest.mark.django_db
def test_the_report_and_the_api_say_what_is_left_out() -> None:
    run, histogram = a_finished_run(), of(347)
    LatencyHistogram.objects.create(run=run, encoded=histogram.encoded(), count=347, sampling_rate=1.0)
    spread = of_run(run)
    assert spread is not None
    assert spread.note.endswith(
        "Too few for p99, p99.9: at least ten transactions must be expected above a percentile."
    )
    found = bearer("read").get(f"/api/v1/runs/{run.pk}/latencies/").json()["percentiles_ms"]
    assert [name for name, value in found.items() if value is None] == ["p99", "p99_9"]
