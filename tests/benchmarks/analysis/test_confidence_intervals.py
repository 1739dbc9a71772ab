"""Ratios with their intervals: what repeats of the same thing show, and what repeats of another."""

import random
from math import exp, inf, isfinite, sqrt

import pytest

from benchmarks.analysis import confidence_intervals
from benchmarks.analysis.confidence_intervals import Interval, Rule

DRAWS = 2_000
LOOKED_AT_DRAWS = 400
BLOCKS = 30


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


@pytest.mark.parametrize(
    ("freedom", "alpha", "expected"),
    [
        (1, 0.05, 12.706),
        (4, 0.05, 2.776),
        (16, 0.05, 2.120),
        (30, 0.05, 2.042),
        (120, 0.05, 1.980),
        (1, 0.01, 63.657),
        (2, 0.01, 9.925),
        (9, 0.01, 3.250),
        (30, 0.01, 2.750),
        (2, 0.005, 14.089),
        (9, 0.005, 3.690),
        (19, 0.005, 3.174),
    ],
)
def test_students_t_is_that_of_the_tables(freedom: int, alpha: float, expected: float) -> None:
    assert confidence_intervals.student_t(freedom, alpha) == pytest.approx(expected, abs=0.001)


def test_an_always_valid_interval_is_endless_with_few_pairs_and_later_wider_than_students() -> None:
    reach = {count: confidence_intervals.always_valid_t(count) for count in range(2, 200)}
    assert reach[2] == inf
    assert all(isfinite(reach[count]) for count in range(3, 200))
    assert all(reach[count] > confidence_intervals.student_t(count - 1) for count in reach)


def test_an_always_valid_interval_narrows_with_every_pair_and_widens_with_more_comparisons() -> None:
    half_widths = [confidence_intervals.always_valid_t(count) / sqrt(count) for count in range(4, 200)]
    assert half_widths == sorted(half_widths, reverse=True)
    reach = [confidence_intervals.always_valid_t(10, Rule(comparisons=count).alpha) for count in (1, 2, 5, 10)]
    assert reach == sorted(set(reach))


def shows_a_difference_at_some_look(source: random.Random, rule: Rule) -> bool:
    pairs = list(zip(draw(source, BLOCKS), draw(source, BLOCKS), strict=True))
    found = [confidence_intervals.of_pairs(pairs[:count], rule) for count in range(3, BLOCKS + 1)]
    return any(one and not one.low <= 1 <= one.high for one in found)


def test_looking_after_every_block_shows_a_difference_of_the_same_thing_in_at_most_one_of_twenty() -> None:
    source = random.Random(17)
    always_valid = Rule(is_sequential=True)
    wrong = sum(shows_a_difference_at_some_look(source, always_valid) for _ in range(LOOKED_AT_DRAWS))
    assert wrong / LOOKED_AT_DRAWS <= 0.05


def test_looking_after_every_block_with_the_fixed_rule_would_be_wrong_far_more_often() -> None:
    source = random.Random(17)
    wrong = sum(shows_a_difference_at_some_look(source, Rule()) for _ in range(LOOKED_AT_DRAWS))
    assert wrong / LOOKED_AT_DRAWS > 0.15


def test_a_difference_within_the_tie_band_is_a_tie_though_the_interval_excludes_1() -> None:
    found = Interval(1.02, 1.01, 1.03, paired=True)
    assert found.shows_difference
    assert found.is_tie(Rule(tie_band=0.03))
    assert not found.is_tie(Rule(tie_band=0.01))
    slower = Interval(1 / 1.02, 1 / 1.03, 1 / 1.01, paired=True)
    assert (slower.is_tie(Rule(tie_band=0.03)), slower.is_tie(Rule(tie_band=0.01))) == (True, False)


def test_a_difference_that_is_not_shown_is_a_tie_however_far_it_lies_outside_the_band() -> None:
    assert Interval(1.5, 0.9, 2.5, paired=True).is_tie(Rule(tie_band=0.0))


def test_several_comparisons_widen_each_interval() -> None:
    pairs = [(100.0, 103.0), (100.0, 106.0), (100.0, 104.0), (100.0, 107.0)]
    alone, one_of_ten = (confidence_intervals.of_pairs(pairs, Rule(comparisons=count)) for count in (1, 10))
    assert alone.ratio == one_of_ten.ratio
    assert one_of_ten.low < alone.low < alone.high < one_of_ten.high
    # both by the tables: t of 3 degrees of freedom is 3.182 for 5 %, 7.453 for 0.5 %
    assert (one_of_ten.high / one_of_ten.ratio) == pytest.approx(
        (alone.high / alone.ratio) ** (7.453 / 3.182), rel=1e-4
    )


def test_no_interval_is_stricter_than_one_comparison() -> None:
    assert Rule(comparisons=0).alpha == Rule(comparisons=1).alpha == 0.05
    assert Rule(comparisons=10).alpha == pytest.approx(0.005)


def test_in_sequential_mode_three_pairs_of_several_arms_give_no_interval_yet() -> None:
    pairs = [(100.0, 200.0), (100.0, 210.0), (100.0, 190.0)]
    assert confidence_intervals.of_pairs(pairs, Rule(comparisons=4, is_sequential=True)) is None
    many = confidence_intervals.of_pairs(pairs * 3, Rule(is_sequential=True))
    fixed = confidence_intervals.of_pairs(pairs * 3)
    assert many.low < fixed.low < fixed.high < many.high


def test_the_pairs_that_a_verdict_needs_are_told_by_ratio_and_spread_so_far() -> None:
    rule = Rule(is_sequential=True)
    scattered = [(100.0, 120.0), (100.0, 160.0), (100.0, 100.0), (100.0, 130.0)]
    assert not confidence_intervals.of_pairs(scattered, rule).shows_difference
    needed = confidence_intervals.pairs_needed(scattered, rule, 0.1, 60)
    assert needed is not None
    assert 5 < needed < 30
    alike = [(100.0, 100.0), (100.0, 104.0), (100.0, 97.0)]
    assert confidence_intervals.pairs_needed(alike, rule, 0.1, 60) is not None  # a difference of 10 % is excluded
    assert confidence_intervals.pairs_needed([(100.0, 109.0), (100.0, 110.0), (100.0, 40.0)], rule, 0.1, 20) is None
    assert confidence_intervals.pairs_needed(alike[:1], rule, 0.1, 60) is None
