"""The standard error of a run's mean: classic for independent samples, larger where neighbours are alike."""

import random
from math import sqrt
from statistics import fmean, stdev

import pytest

from benchmarks.analysis import batch_means

RUNS = 200
SAMPLES = 900


def white_noise(draw, count=SAMPLES):
    return [1000 + draw.gauss(0, 50) for _ in range(count)]


def autocorrelated(draw, count=SAMPLES, share=0.8):
    """An AR(1) series with the same spread of single samples as the white noise."""
    deviation, found = draw.gauss(0, 50), []
    for _ in range(count):
        deviation = share * deviation + draw.gauss(0, 50 * sqrt(1 - share**2))
        found.append(1000 + deviation)
    return found


def classic(samples):
    return stdev(samples) / sqrt(len(samples))


def test_batches_are_of_equal_size_and_the_first_samples_that_fill_none_are_left_out():
    assert batch_means.batches([float(at) for at in range(16)]) == [1.5, 5.5, 9.5, 13.5]
    assert batch_means.batches([99.0, *(float(at) for at in range(16))]) == [1.5, 5.5, 9.5, 13.5]


@pytest.mark.parametrize("count", [16, 17, 24, 25, 60, 99, 100, 3600])
def test_batches_grow_with_the_run(count):
    found = batch_means.batches([1.0] * count)
    assert sqrt(count) - 1 <= len(found) <= sqrt(count) + 2


def test_by_hand():
    samples = [9.0, 11.0, 9.0, 11.0] * 2 + [19.0, 21.0, 19.0, 21.0] * 2
    assert batch_means.standard_error(samples) == pytest.approx(5 * sqrt(4 / 3) / 2)
    # Student's t of 3 degrees of freedom is 3.182
    assert batch_means.half_width_percent(samples) == pytest.approx(100 * 3.182 * 5 * sqrt(4 / 3) / 2 / 15, abs=0.02)


def test_white_noise_has_the_classic_standard_error():
    draw = random.Random(5)
    series = [white_noise(draw) for _ in range(RUNS)]
    ratio = fmean(batch_means.standard_error(one) / classic(one) for one in series)
    assert ratio == pytest.approx(1, abs=0.03)


def test_autocorrelated_samples_have_a_larger_one_near_the_truth():
    """The mean of an AR(1) series of 0.8 varies √((1 + 0.8) / (1 - 0.8)) = 3 times as much as independent samples."""
    draw = random.Random(5)
    series = [autocorrelated(draw) for _ in range(RUNS)]
    assert fmean(batch_means.standard_error(one) / classic(one) for one in series) > 2.5
    truth = stdev(fmean(one) for one in series)
    assert fmean(map(batch_means.standard_error, series)) == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("samples", [[], [1000.0], [1000.0] * 15])
def test_too_few_samples_tell_nothing(samples):
    assert batch_means.standard_error(samples) is None
    assert batch_means.half_width_percent(samples) is None


def test_a_run_that_did_nothing_has_no_relative_width():
    assert batch_means.half_width_percent([0.0] * 16) is None
    assert batch_means.half_width_percent([7.0] * 16) == 0.0
