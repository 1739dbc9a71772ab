"""Histograms keep three digits, come back from their text whole, and merge as if all had been counted in one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.latency.histogram import PERCENTILES, Bar, Histogram, merged, percentile

pytestmark = pytest.mark.usefixtures("few_are_enough")


LATENCIES = st.lists(st.integers(0, 10_000_000_000), min_size=1, max_size=300)


def of(latencies_us: list[int]) -> Histogram:
    histogram = Histogram()
    histogram.add(latencies_us)
    return histogram


def test_nothing_counted_has_no_percentile():
    assert (Histogram().count, Histogram().percentiles_ms(), Histogram().bars()) == (0, {}, [])


def test_percentiles_are_in_milliseconds():
    assert of(list(range(1, 1001))).percentiles_ms() == {
        "p50": 0.5,
        "p90": 0.9,
        "p95": 0.95,
        "p99": 0.99,
        "p99_9": 0.999,
    }


@given(LATENCIES)
def test_each_percentile_is_within_a_thousandth_of_a_latency_that_was_counted(latencies_us: list[int]):
    counted = sorted(latencies_us)
    found = of(latencies_us).percentiles_ms()
    for name, share in PERCENTILES.items():
        near = {percentile(counted, share), percentile(counted, max(0, share - 100 / len(counted)))}
        assert any(abs(found[name] * 1000 - one) <= one / 1000 + 1 for one in near), (name, found)


@given(st.lists(LATENCIES, min_size=1, max_size=4))
def test_merged_parts_are_what_counting_all_together_gives(parts: list[list[int]]):
    together = of([one for part in parts for one in part])
    whole = merged((of(part).encoded(), 4.0 * len(part)) for part in parts)
    assert (whole.count, whole.percentiles_ms()) == (together.count, together.percentiles_ms())


def test_a_part_logged_more_densely_weighs_as_much_as_its_transactions():
    dense, sparse = of([1_000] * 1_000), of([9_000] * 100)  # 1,000 transactions each
    assert merged([(dense.encoded(), 1_000), (sparse.encoded(), 1_000)]).percentiles_ms() == pytest.approx(
        {"p50": 1.0, "p90": 9.0, "p95": 9.0, "p99": 9.0, "p99_9": 9.0}, rel=0.001
    )


def test_what_was_merged_merges_again_by_its_transactions():
    dense, sparse = of([1_000] * 1_000), of([9_000] * 100)
    both = merged([(dense.encoded(), 1_000), (sparse.encoded(), 1_000)])
    again = merged([(both.encoded(), 2_000), (of([20_000] * 50).encoded(), 2_000)])
    assert again.percentiles_ms() == pytest.approx(
        {"p50": 9.0, "p90": 20.0, "p95": 20.0, "p99": 20.0, "p99_9": 20.0}, rel=0.001
    )


def test_merging_never_averages():
    fast, slow = of([1_000] * 99), of([100_000])
    assert merged([(fast.encoded(), 99), (slow.encoded(), 1)]).percentiles_ms()["p99"] == 1.0


def test_bars_hold_every_latency_once():
    random.seed(1)
    latencies_us = [int(random.lognormvariate(7, 1)) for _ in range(5_000)]
    bars = of(latencies_us).bars()
    assert sum(bar.count for bar in bars) == 5_000
    assert [one.to_ms for one in bars[:-1]] == [one.from_ms for one in bars[1:]]
    assert of([100, 100, 1000]).bars(per_decade=1) == [Bar(0.1, 1.0, 2), Bar(1.0, 10.0, 1)]


def test_what_takes_longer_than_a_day_and_some_is_left_out():
    assert of([1, 10**12]).count == 1
