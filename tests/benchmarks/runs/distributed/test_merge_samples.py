"""Samples of many loads made those of one."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engines.base import Progress
from benchmarks.runs.distributed import merge_samples
from benchmarks.runs.distributed.merge_samples import Merger, pooled_stddev
from benchmarks.runs.execution.latency_exchange import Latencies

pytestmark = pytest.mark.usefixtures("few_are_enough")


def reported(t: float, tps: float, latency_ms: float | None = 1.0, **more: float) -> Progress:
    return Progress(t=t, tps=tps, latency_ms=latency_ms, stddev_ms=more.pop("stddev_ms", None), **more)


def merge(parts: dict[str, list[Progress]], interval_s: float = 1.0) -> list[Progress]:
    merger = Merger(parts, interval_s)
    for name, samples in parts.items():
        for sample in samples:
            merger.add(name, sample)
    return list(merger.completed_intervals())


def test_rates_and_counts_are_added_and_latencies_weighed():
    (found,) = merge(
        {
            "east": [reported(1.0, 300.0, 1.0, failed=1, retried=2, retries=5)],
            "west": [reported(1.0, 100.0, 5.0, failed=2, retried=0, retries=0)],
        }
    )
    assert (found.t, found.tps, found.latency_ms) == (1.0, 400.0, 2.0)
    assert (found.failed, found.retried, found.retries, found.skipped) == (3, 2, 5, None)


def test_an_interval_waits_for_the_slowest_part():
    merger = Merger(["east", "west"], 1.0)
    merger.add("east", reported(1.0, 10.0))
    merger.add("east", reported(2.0, 10.0))
    assert list(merger.completed_intervals()) == []
    merger.add("west", reported(1.0, 5.0))
    assert [one.tps for one in merger.completed_intervals()] == [15.0]
    assert list(merger.completed_intervals()) == []


def test_a_part_that_fell_silent_ends_the_figures_of_the_whole():
    found = merge(
        {"east": [reported(1.0, 10.0), reported(2.0, 10.0), reported(3.0, 10.0)], "west": [reported(1.0, 10.0)]}
    )
    assert [one.t for one in found] == [1.0]


def test_a_report_a_little_late_is_of_its_interval():
    found = merge(
        {"east": [reported(1.004, 10.0), reported(1.998, 20.0)], "west": [reported(1.0, 1.0), reported(2.0, 2.0)]}
    )
    assert [one.tps for one in found] == [11.0, 22.0]


def test_a_longer_interval_is_shared_out():
    found = merge(
        {
            "east": [reported(1.0, 10.0), reported(3.0, 40.0, failed=6)],
            "west": [reported(1.0, 1.0), reported(2.0, 1.0), reported(3.0, 1.0)],
        }
    )
    assert [one.tps for one in found] == [11.0, 41.0, 41.0]
    assert [one.failed for one in found] == [None, None, 6]


def test_other_intervals_than_a_second():
    found = merge(
        {"east": [reported(5.0, 10.0), reported(10.0, 20.0)], "west": [reported(5.0, 1.0), reported(10.0, 2.0)]}, 5.0
    )
    assert [(one.t, one.tps) for one in found] == [(5.0, 11.0), (10.0, 22.0)]


def test_what_no_part_told_is_not_invented():
    (found,) = merge({"east": [reported(1.0, 0.0, None)], "west": [reported(1.0, 0.0, None)]})
    assert (found.tps, found.latency_ms, found.stddev_ms, found.lag_ms, found.failed) == (0.0, None, None, None, None)
    assert (found.latency_p50_ms, found.latency_p95_ms, found.latency_p99_ms) == (None, None, None)


def test_percentiles_are_of_all_parts_or_of_none():
    merger = Merger(["east", "west"], 1.0)
    merger.add("east", reported(1.0, 10.0), Latencies([1_000] * 9))
    merger.add("west", reported(1.0, 10.0), Latencies([5_000]))
    merger.add("east", reported(2.0, 10.0), Latencies([1_000]))
    merger.add("west", reported(2.0, 10.0))
    first, second = merger.completed_intervals()
    assert (first.latency_p50_ms, first.latency_p95_ms, first.latency_p99_ms) == (1.0, 5.0, 5.0)
    assert (second.latency_p50_ms, second.latency_p95_ms) == (None, None)


def test_latencies_that_come_late_give_the_interval_its_percentiles():
    merger = Merger(["east", "west"], 1.0)
    for second, early in ((1.0, Latencies([1_000] * 9)), (2.0, None)):
        merger.add("east", reported(second, 10.0), early, key=("east", second))
        merger.add("west", reported(second, 10.0), key=("west", second))
    first, second = merger.completed_intervals()
    assert (first.latency_p50_ms, second.latency_p50_ms) == (None, None)
    assert merger.corrected({("west", 1.0): Latencies([5_000])}) == {0: percentiles_ms(1.0, 5.0, 5.0)}
    everything = {("west", second): Latencies([5_000]) for second in (1.0, 2.0)} | {("east", 2.0): Latencies([7_000])}
    assert merger.corrected(everything) == {0: percentiles_ms(1.0, 5.0, 5.0), 1: percentiles_ms(5.0, 7.0, 7.0)}
    assert merger.corrected({}) == {}


def percentiles_ms(*ms: float) -> dict[str, float]:
    return dict(zip(("latency_p50_ms", "latency_p95_ms", "latency_p99_ms"), ms, strict=True))


@pytest.mark.parametrize("bound", ["KEPT", "MOST_RETAINED"])
def test_what_is_held_for_late_latencies_is_bounded(monkeypatch, bound):
    monkeypatch.setattr(merge_samples, bound, 10)
    merger = Merger(["east"], 1.0)
    for second in range(1, 101):
        merger.add("east", reported(float(second), 10.0), Latencies([1_000] * 2), key=second)
    list(merger.completed_intervals())
    held = merger.corrected(dict.fromkeys(range(1, 101), Latencies([2_000])))
    assert sorted(held) == list(range(95, 100) if bound == "KEPT" else range(90, 100))


def test_a_sample_that_goes_back_in_time_is_left_out():
    found = merge({"east": [reported(1.0, 10.0), reported(0.5, 99.0), reported(2.0, 10.0)]})
    assert [one.tps for one in found] == [10.0, 10.0]


@given(st.lists(st.lists(st.floats(0.2, 3.0), min_size=2, max_size=8), min_size=1, max_size=4), st.randoms())
def test_no_transaction_is_lost_or_made(steps: list[list[float]], dice: random.Random):
    """Whatever the lengths of the intervals, up to the last one merged as many transactions count as the parts did."""
    parts: dict[str, list[Progress]] = {}
    for number, lengths in enumerate(steps):
        ends = [math.fsum(lengths[: at + 1]) for at in range(len(lengths))]
        parts[str(number)] = [reported(t, dice.uniform(0, 1000)) for t in ends]
    found = merge(parts)
    if not found:
        return
    upto = found[-1].t
    assert [one.t for one in found] == [float(at + 1) for at in range(len(found))]
    whole = sum(one.tps or 0.0 for one in found)
    most = sum(_transactions(samples, upto, snapped=+0.1) for samples in parts.values())
    least = sum(_transactions(samples, upto, snapped=-0.1) for samples in parts.values())
    slack = sum(
        0.2 * (one.tps or 0.0)  # both ends of an interval may be moved
        for samples in parts.values()
        for one in samples
    )
    assert least - slack - 0.01 * len(found) <= whole <= most + slack + 0.01 * len(found)


def _transactions(samples: list[Progress], upto: float, snapped: float) -> float:
    total, began = 0.0, 0.0
    for one in samples:
        total += max(0.0, min(one.t, upto + snapped) - began) * (one.tps or 0.0)
        began = one.t
    return total


def test_the_deviation_of_groups_is_that_of_all_their_values():
    groups = [[1.0, 2.0, 4.0], [10.0, 11.0], [3.0]]
    described = [(float(len(one)), statistics.fmean(one), statistics.pstdev(one)) for one in groups]
    assert pooled_stddev(described) == pytest.approx(statistics.pstdev([v for one in groups for v in one]), abs=0.001)
