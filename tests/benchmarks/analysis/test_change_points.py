"""Change points of series whose truth is known, among them the examples of the method's own publications."""

import random

import pytest

from benchmarks.analysis.change_points import STRICT, ChangePoint, Rule, change_points

# Flow of the Nile at Aswan in 10^8 m³, 1871 to 1970 (Cobb 1978): its level fell in 1898, when the first dam was begun.
NILE = [
    *(1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140),
    *(1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969),
    *(831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759),
    *(781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890),
    *(744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740),
]


def places(values: list[float], rule: Rule = STRICT) -> list[int]:
    return [one.at for one in change_points(values, rule)]


def test_a_short_series_that_halves_changes_once() -> None:
    """The example of Otava's own tests."""
    assert places([1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55]) == [6]


def test_the_nile_changed_in_1898_only() -> None:
    (fall,) = change_points([float(value) for value in NILE])
    assert (1870 + fall.at, round(fall.ratio, 3)) == (1898, 0.774)
    assert fall.interval is not None
    assert fall.interval.low < 0.77 < fall.interval.high < 0.85


def test_each_of_several_changes_is_judged_by_the_values_up_to_its_neighbors() -> None:
    draw = random.Random(3)
    levels = [1.0] * 40 + [1.06] * 30 + [0.98] * 30
    first, second = change_points([draw.gauss(level, 0.02) for level in levels])
    assert (first.at, second.at) == (40, 70)
    assert (len(first.before), len(first.after)) == (40, 30)
    assert first.after == second.before


def test_noise_alone_changes_less_than_once_in_a_year_of_nights() -> None:
    draw = random.Random(0)
    years, found = 3, 0
    for _ in range(3 * years):
        found += len(change_points([draw.gauss(100, 5) for _ in range(122)]))
    assert found <= years


def test_a_single_night_that_went_wrong_is_no_change() -> None:
    draw = random.Random(1)
    values = [draw.gauss(100, 2) for _ in range(40)]
    assert places([*values[:20], 40.0, *values[20:]]) == []
    assert places([*values, 40.0]) == []


def test_a_change_smaller_than_the_rule_asks_for_is_left_out() -> None:
    values = [100.0, 101.0] * 20 + [103.0, 104.0] * 20
    assert places(values) == [40]
    assert places(values, Rule(least_change=0.05)) == []


def test_a_series_without_any_spread_changes_where_it_steps() -> None:
    assert places([5.0] * 6 + [7.0] * 6) == [6]
    assert places([5.0] * 12) == []


@pytest.mark.parametrize("count", range(6))
def test_too_few_values_for_two_sides_have_no_change(count: int) -> None:
    assert places([1.0, 1.0, 1.0, 9.0, 9.0][:count]) == []


def test_a_change_to_zero_has_a_ratio_and_no_interval() -> None:
    (stop,) = change_points([10.0, 11.0, 10.0, 11.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    assert isinstance(stop, ChangePoint)
    assert (stop.at, stop.ratio, stop.interval) == (5, 0.0, None)
