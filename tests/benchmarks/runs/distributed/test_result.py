"""What became of a run over several generators."""

import pytest

from benchmarks.analysis.latency.histogram import Histogram
from benchmarks.models import LatencyHistogram, Run, Status, Validity
from benchmarks.runs.distributed import coordinator
from benchmarks.runs.execution.ending import Cancelled
from benchmarks.runs.execution.recorder import Recorder

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_are_enough")]


def a_part(whole: Run, name: str, **fields: object) -> Run:
    values = {
        "status": Status.SUCCEEDED,
        "validity": Validity.VALID,
        "summary": {"tps": 100.0, "transactions": 1000, "latency_avg_ms": 2.0},
        "conditions": {"start": {"late_ms": 1.0, "clock_error_ms": 0.1}},
        "client_version": "15.18",
    }
    return Run.objects.enqueue(parent=whole, generator=name, **(values | fields))


@pytest.fixture
def whole() -> Run:
    return Run.objects.enqueue(wanted_generators=["east", "west"])


def end(whole: Run, *parts: Run, stop: Exception | None = None) -> coordinator.EndState:
    return coordinator.ending(whole, Recorder(whole), list(parts), stop)


def test_all_well_is_valid_and_merged(whole):
    parts = a_part(whole, "east"), a_part(whole, "west", conditions={"start": {"late_ms": 4.5, "clock_error_ms": 0.2}})
    found = end(whole, *parts)
    assert found.status == Status.SUCCEEDED
    assert (found.values["validity"], found.values["reasons"], found.values["exit_code"]) == (Validity.VALID, [], 0)
    assert found.values["summary"] == {"tps": 200.0, "transactions": 2000, "latency_avg_ms": 2.0}
    assert found.values["conditions"]["start"] == {
        "spread_ms": 3.5,
        "clock_error_ms": 0.2,
        "late_ms": {"east": 1.0, "west": 4.5},
    }
    assert found.values["client_version"] == "15.18"


def test_the_least_valid_part_decides_with_its_reasons(whole):
    doubtful = a_part(whole, "west", validity=Validity.SUSPECT, reasons=["it was late"])
    found = end(whole, a_part(whole, "east"), doubtful)
    assert (found.values["validity"], found.values["reasons"]) == (Validity.SUSPECT, ["west: it was late"])
    broken = a_part(whole, "north", validity=Validity.INCOMPLETE, reasons=["2 of 3 clients aborted"])
    assert end(whole, doubtful, broken).values["validity"] == Validity.INCOMPLETE


def test_what_limited_a_valid_part_is_told_and_leaves_the_whole_valid(whole):
    limited = a_part(whole, "west", reasons=["pgbench itself took 92 %"])
    found = end(whole, a_part(whole, "east"), limited)
    assert (found.values["validity"], found.values["reasons"]) == (Validity.VALID, ["west: pgbench itself took 92 %"])


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ({"start": {"late_ms": 900.0, "clock_error_ms": 0.1}}, "the loads began 899 ms apart"),
        ({}, "the loads began at unknown times"),
    ],
)
def test_a_start_that_was_none_is_doubted(whole, start, words):
    found = end(whole, a_part(whole, "east"), a_part(whole, "west", conditions=start))
    assert found.values["validity"] == Validity.SUSPECT
    assert found.values["reasons"][0].startswith(words)


def test_a_part_that_did_not_succeed_makes_it_incomplete_without_figures(whole):
    found = end(whole, a_part(whole, "east"), a_part(whole, "west", status=Status.LOST))
    assert (found.status, found.values["validity"]) == (Status.FAILED, Validity.INCOMPLETE)
    assert "summary" not in found.values


def test_a_stop_is_told_as_it_was(whole):
    found = end(whole, a_part(whole, "east"), stop=Cancelled("cancelled; figures are those until then"))
    assert (found.status, found.values["error"]) == (Status.CANCELLED, "cancelled; figures are those until then")


def keep(part: Run, *latencies_us: int, rate: float = 1.0) -> None:
    histogram = Histogram()
    histogram.add(latencies_us)
    LatencyHistogram.objects.create(run=part, encoded=histogram.encoded(), count=len(latencies_us), sampling_rate=rate)


def test_percentiles_come_from_the_merged_histograms(whole):
    east, west = a_part(whole, "east"), a_part(whole, "west")
    keep(east, *[1_000] * 90)
    keep(west, *[50_000] * 10)
    figures = end(whole, east, west).values["summary"]
    assert (figures["latency_p50_ms"], figures["latency_p90_ms"]) == (1.0, 1.0)
    assert figures["latency_p95_ms"] == pytest.approx(50.0, rel=0.001)
    assert whole.latency_histogram.count == 100


def test_without_the_histogram_of_a_part_there_are_no_percentiles(whole):
    east, west = a_part(whole, "east"), a_part(whole, "west")
    keep(east, 1_000)
    assert "latency_p50_ms" not in end(whole, east, west).values["summary"]
    assert not LatencyHistogram.objects.filter(run=whole).exists()
