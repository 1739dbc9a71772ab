"""The 95 % interval of a run's mean by batch means, which respect that neighboring samples are alike; pure.

The samples are cut into about √n batches of √n samples each, so that batches grow with the run; the means of long
batches are nearly independent. Where neighbors are alike beyond chance, the batches of a short run still depend on
each other, and the wider of two intervals is taken: that of the batches and that of an AR(1) process. By simulation
(`tests/bench/evidence`) it holds 94 to 96 % with 60 to 1,200 samples, independent or AR(1) of up to 0.8, and 91 % with
60 at 0.9; the classic one holds 95, 48 and 32 %. It describes one run: only repeats show how much runs vary.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import isqrt, sqrt
from statistics import fmean, stdev, variance

from benchmarks.analysis.confidence_intervals import student_t

FEWEST_SAMPLES = 60  # fewer do not show how alike neighbors are: 20 samples of AR(1) 0.8 are worth 2 independent ones
CHANCE = 1.645  # standard errors of an autocorrelation that one in twenty series of independent samples exceeds
LARGEST_AUTOCORRELATION = 0.97  # keeps the variance of a series that only climbs finite


def half_width_percent(samples: Sequence[float]) -> float | None:
    """Return half the width of the mean's 95 % interval, in percent of the mean.

    None with fewer than `FEWEST_SAMPLES`, where the mean is not positive, and where the interval would contain 0: the
    figures of such a run never settled.
    """
    if len(samples) < FEWEST_SAMPLES or fmean(samples) <= 0:
        return None
    means = batches(samples)
    half_width = student_t(len(means) - 1) * stdev(means) / sqrt(len(means))
    if autocorrelation(samples) > CHANCE / sqrt(len(samples)):
        half_width = max(half_width, _half_width_of_ar1(samples))
    share = half_width / fmean(samples)
    return 100 * share if share < 1 else None


def batches(samples: Sequence[float]) -> list[float]:
    """Return the means of √n batches of equal size; the first samples that fill no batch are left out."""
    size = len(samples) // isqrt(len(samples))
    first = len(samples) % size
    return [fmean(samples[at : at + size]) for at in range(first, len(samples), size)]


def autocorrelation(samples: Sequence[float]) -> float:
    """Return the lag-1 autocorrelation, from -1 to 1; 0 where all samples are equal."""
    mean = fmean(samples)
    deviations = [sample - mean for sample in samples]
    total = sum(one**2 for one in deviations)
    return sum(one * after for one, after in pairwise(deviations)) / total if total else 0.0


def _half_width_of_ar1(samples: Sequence[float]) -> float:
    """Return half the width of the interval under an AR(1) process, both moments corrected for the estimated mean.

    The autocorrelation of n samples is (1 + 3 × itself) / n too small on average (Kendall 1954). The samples are worth
    n / inflation independent ones, and have as many degrees of freedom.
    """
    count = len(samples)
    share = min(LARGEST_AUTOCORRELATION, max(0.0, (count * autocorrelation(samples) + 1) / (count - 3)))
    inflation = (1 + share) / (1 - share)
    spread = variance(samples) * (1 - 1 / count) / max(0.1, 1 - inflation / count)
    return student_t(max(2, int(count / inflation) - 1)) * sqrt(spread * inflation / count)
