"""The interval of a run's mean: classic for independent samples, wider where neighbors are alike."""

import random
from math import sqrt
from statistics import fmean, stdev

import pytest

from benchmarks.analysis import batch_means

RUNS = 200


def series(draw, count, share=0.0):
    """AR(1) series around 1,000; the standard deviation of single samples is 50 for every share."""
    deviation, found = draw.gauss(0, 50), []
    for _ in range(count):
        deviation = share * deviation + draw.gauss(0, 50 * sqrt(1 - share**2))
        found.append(1000 + deviation)
    return found


def held(count, share):
    """How many of `RUNS` intervals contain the true mean."""
    draw = random.Random(5)
    runs = [series(draw, count, share) for _ in range(RUNS)]
    return sum(abs(fmean(run) - 1000) <= fmean(run) * batch_means.half_width_percent(run) / 100 for run in runs)


def test_batches_are_of_equal_size_and_the_first_samples_that_fill_none_are_left_out():
    assert batch_means.batches([float(at) for at in range(16)]) == [1.5, 5.5, 9.5, 13.5]
    assert batch_means.batches([99.0, *(float(at) for at in range(16))]) == [1.5, 5.5, 9.5, 13.5]


@pytest.mark.parametrize("count", [60, 61, 99, 100, 3600])
def test_batches_grow_with_the_run(count):
    found = batch_means.batches([1.0] * count)
    assert sqrt(count) - 1 <= len(found) <= sqrt(count) + 2


def test_by_hand():
    """Neighbors differ more than others here, so that only the batches count: means of 10 and 20, Student's t of 7."""
    samples = ([0.0, 20.0] * 4 + [10.0, 30.0] * 4) * 4
    assert batch_means.batches(samples) == [10.0, 20.0] * 4
    assert batch_means.half_width_percent(samples) == pytest.approx(
        100 * 2.365 * 5 * sqrt(8 / 7) / sqrt(8) / 15, abs=0.02
    )


def test_autocorrelation_by_hand():
    assert batch_means.autocorrelation([1.0, 2.0, 1.0, 2.0]) == -0.75
    assert batch_means.autocorrelation([1.0, 1.0, 2.0, 2.0]) == 0.25
    assert batch_means.autocorrelation([3.0] * 5) == 0.0


def test_independent_samples_have_about_the_classic_interval():
    draw = random.Random(5)
    runs = [series(draw, 900) for _ in range(RUNS)]
    classic = fmean(1.96 * stdev(run) / sqrt(len(run)) for run in runs)
    ours = fmean(fmean(run) * batch_means.half_width_percent(run) / 100 for run in runs)
    assert ours == pytest.approx(classic, rel=0.1)


@pytest.mark.parametrize("count", [60, 300])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.8])
def test_the_interval_contains_the_truth_however_alike_neighbors_are(count, share):
    """At 95 %, fewer than 182 of 200 are a matter of one in a hundred; the classic interval holds 96 at 0.8."""
    assert held(count, share) >= 182


@pytest.mark.parametrize("samples", [[], [1000.0], [1000.0] * 59])
def test_too_few_samples_tell_nothing(samples):
    assert batch_means.half_width_percent(samples) is None


def test_a_run_that_did_nothing_has_no_relative_width():
    assert batch_means.half_width_percent([0.0] * 60) is None
    assert batch_means.half_width_percent([7.0] * 60) == 0.0


def test_a_run_that_never_settled_has_no_interval():
    assert batch_means.half_width_percent([float(at) for at in range(1, 61)]) is None
