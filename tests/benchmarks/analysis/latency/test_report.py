"""What is told of latencies: one run's, or those of valid repeats counted together, and how firm it is."""

import uuid

import pytest

from benchmarks.analysis.latency.histogram import Histogram
from benchmarks.analysis.latency.report import Spread, columns, marks, of_run, of_runs, repeated, repeats_of
from benchmarks.models import LatencyHistogram, Run, Validity
from tests.benchmarks.records import a_finished_run, the_options

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_are_enough")]


def logged(run: Run, latencies_us: list[int], rate: float = 1.0) -> Run:
    histogram = Histogram()
    histogram.add(latencies_us)
    LatencyHistogram.objects.create(run=run, encoded=histogram.encoded(), count=histogram.count, sampling_rate=rate)
    return run


def test_a_run_that_logged_nothing_has_no_spread():
    assert of_run(a_finished_run()) is None


def test_a_spread_says_what_it_rests_on():
    few = of_run(logged(a_finished_run(), [1_000] * 9_999, rate=0.0555))
    assert few is not None
    assert (few.runs, few.count, few.is_firm, few.percentiles_ms["p99"]) == (1, 9_999, False, 1.0)
    assert few.note == (
        "From 9,999 logged transactions (5.55% of all). A p99 from fewer than 10,000 transactions is rough."
    )
    many = of_run(logged(a_finished_run(), [1_000] * 10_000))
    assert many is not None
    assert (many.is_firm, many.note) == (True, "From 10,000 logged transactions.")


def test_repeats_are_the_valid_runs_of_the_group_that_did_the_same():
    group = uuid.uuid4()
    alike = [a_finished_run(group=group) for _ in range(2)]
    a_finished_run(group=group, validity=Validity.INCOMPLETE)
    a_finished_run(group=group, options=the_options(clients=3))
    a_finished_run(group=group, database="other")
    a_finished_run(group=group, pooled=True)  # its pool was removed
    a_finished_run()
    assert repeats_of(alike[0]) == alike


def test_repeats_are_counted_together_once():
    group = uuid.uuid4()
    first, second = (logged(a_finished_run(group=group), [us] * 6_000) for us in (1_000, 3_000))
    alone = logged(a_finished_run(), [1])
    [(runs, spread)] = repeated([first, second, alone])
    assert (runs, spread.runs, spread.count, spread.is_firm) == ([first, second], 2, 12_000, True)
    assert (spread.percentiles_ms["p50"], spread.percentiles_ms["p99"]) == (1.0, 3.001)
    assert spread.note == "From 12,000 logged transactions of 2 runs, merged."
    assert spread == of_runs([first, second])


def test_a_set_of_repeats_of_which_one_logged_is_not_told():
    group = uuid.uuid4()
    first = logged(a_finished_run(group=group), [1])
    a_finished_run(group=group)
    assert repeated([first]) == []


def test_a_drawing_has_a_column_for_each_bar_and_a_mark_for_each_percentile():
    spread = of_run(logged(a_finished_run(), [100] * 3 + [1_000] * 6))
    assert spread is not None
    drawn = columns(spread)
    assert (len(drawn), drawn[0].x, round(drawn[-1].x + drawn[-1].width)) == (len(spread.bars), 0.0, 100)
    assert (drawn[0].height, drawn[0].y, drawn[-1].height, drawn[-1].y) == (50.0, 50.0, 100.0, 0.0)
    assert all(0 <= x <= 100 for x in marks(spread).values())
    assert list(marks(spread)) == ["p50", "p90", "p95", "p99", "p99_9"]


def test_one_single_latency_can_be_drawn():
    spread: Spread | None = of_run(logged(a_finished_run(), [0]))
    assert spread is not None
    assert len(columns(spread)) == 1
    assert set(marks(spread).values()) == {0.0}
