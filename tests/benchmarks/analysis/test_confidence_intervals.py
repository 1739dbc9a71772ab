"""Ratios with their intervals: what repeats of the same thing show, and what repeats of another."""

import random
from math import exp

import pytest

from benchmarks.analysis import confidence_intervals

DRAWS = 2_000


def draw(source: random.Random, count: int, middle: float = 1000.0, spread: float = 0.06) -> list[float]:
    return [middle * exp(source.gauss(0.0, spread)) for _ in range(count)]


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_the_same_thing_twice_shows_no_difference_in_nineteen_of_twenty(repeats: int) -> None:
    source = random.Random(17)
    found = [confidence_intervals.of_samples(draw(source, repeats), draw(source, repeats)) for _ in range(DRAWS)]
    assert sum(one.shows_difference for one in found) / DRAWS <= 0.06


def test_pairs_of_the_same_thing_show_no_difference_in_nineteen_of_twenty_however_the_machine_drifts() -> None:
    source = random.Random(17)
    wrong = 0
    for _ in range(DRAWS):
        drift = draw(source, 3, spread=0.5)
        pairs = list(
            zip(
                *([one * other / 1000 for one, other in zip(drift, draw(source, 3), strict=True)] for _ in "ab"),
                strict=True,
            )
        )
        wrong += confidence_intervals.of_pairs(pairs).shows_difference
    assert wrong / DRAWS <= 0.06


def test_three_repeats_find_a_threefold_gain_and_its_size() -> None:
    source = random.Random(17)
    found = [confidence_intervals.of_samples(draw(source, 3), draw(source, 3, middle=3000.0)) for _ in range(DRAWS)]
    assert sum(one.shows_difference for one in found) / DRAWS > 0.99
    assert sum(one.low <= 3 <= one.high for one in found) / DRAWS >= 0.94


def test_an_interval_of_three_pairs_by_hand() -> None:
    found = confidence_intervals.of_pairs([(100.0, 200.0), (100.0, 210.0), (100.0, 190.0)])
    assert [round(one, 3) for one in (found.ratio, found.low, found.high)] == [1.998, 1.765, 2.263]
    assert found.paired


def test_an_interval_that_is_shown_to_begin_at_one_shows_no_difference() -> None:
    assert not confidence_intervals.Interval(1.72, 1.004, 2.94, paired=True).shows_difference
    assert confidence_intervals.Interval(1.72, 1.006, 2.94, paired=True).shows_difference
    assert not confidence_intervals.Interval(0.8, 0.6, 0.996, paired=True).shows_difference


def test_with_fewer_than_three_or_a_zero_there_is_none() -> None:
    assert confidence_intervals.of_samples([1.0, 2.0], [1.0, 2.0, 3.0]) is None
    assert confidence_intervals.of_samples([1.0, 2.0, 0.0], [1.0, 2.0, 3.0]) is None
    assert confidence_intervals.of_pairs([(1.0, 2.0), (1.0, 2.0)]) is None


def test_repeats_tell_how_much_they_vary() -> None:
    assert confidence_intervals.repeatability([[100.0]]) is None
    assert confidence_intervals.repeatability([[100.0, 100.0], [50.0, 50.0, 50.0]]) == 0.0
    assert 0.04 < confidence_intervals.repeatability([[100.0, 105.0, 95.0], [10.0, 10.5, 9.5]]) < 0.06


@pytest.mark.parametrize(("freedom", "expected"), [(1, 12.706), (4, 2.776), (16, 2.120), (30, 2.042), (120, 1.980)])
def test_students_t_is_that_of_the_tables(freedom: int, expected: float) -> None:
    assert confidence_intervals.student_t(freedom) == pytest.approx(expected, abs=0.001)
