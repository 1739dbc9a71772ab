"""Ratios of two sets of measurements with their 95 % intervals, on the log scale; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean, stdev, variance

ENOUGH_REPEATS = 3  # of each arm: with fewer an interval says next to nothing
SHOWN_DIGITS = 2
# Student's t for 95 %, by degrees of freedom from 1 (any table of it; with more, Cornish and Fisher's expansion)
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_Z = 1.959964


@dataclass(frozen=True)
class Interval:
    """A ratio, the ends of its 95 % interval, and whether it rests on pairs of neighbouring runs."""

    ratio: float
    low: float
    high: float
    paired: bool

    @property
    def shows_difference(self) -> bool:
        """Whether 1 lies outside the interval as it is displayed: one that begins at ×1.00 shows no difference."""
        return not round(self.low, SHOWN_DIGITS) <= 1 <= round(self.high, SHOWN_DIGITS)


def of_pairs(pairs: Sequence[tuple[float, float]]) -> Interval | None:
    """Return the mean ratio of second to first over pairs; None with fewer than `ENOUGH_REPEATS`, or at a 0."""
    if len(pairs) < ENOUGH_REPEATS or any(one <= 0 or other <= 0 for one, other in pairs):
        return None
    logs = [log(other / one) for one, other in pairs]
    return _around(fmean(logs), stdev(logs) / sqrt(len(logs)), len(logs) - 1, paired=True)


def of_samples(base: Sequence[float], values: Sequence[float]) -> Interval | None:
    """Return the ratio of the means of two sets of unequal variance (Welch); None with too few values, or at a 0."""
    if min(len(base), len(values)) < ENOUGH_REPEATS or min(*base, *values) <= 0:
        return None
    ours, theirs = [log(value) for value in values], [log(value) for value in base]
    parts = [variance(logs) / len(logs) for logs in (ours, theirs)]
    freedom = _welch_freedom(parts, [len(ours), len(theirs)])
    return _around(fmean(ours) - fmean(theirs), sqrt(sum(parts)), freedom, paired=False)


def repeatability(sets: Sequence[Sequence[float]]) -> float | None:
    """Return the pooled standard deviation of repeats as a share; None unless some set has two values."""
    logs = [[log(value) for value in one] for one in sets if len(one) > 1 and min(one) > 0]
    freedom = sum(len(one) - 1 for one in logs)
    return exp(sqrt(sum(variance(one) * (len(one) - 1) for one in logs) / freedom)) - 1 if freedom else None


def student_t(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t for these degrees of freedom."""
    if freedom <= len(_T):
        return _T[max(freedom, 1) - 1]
    return _Z + (_Z**3 + _Z) / (4 * freedom) + (5 * _Z**5 + 16 * _Z**3 + 3 * _Z) / (96 * freedom**2)


def _welch_freedom(parts: Sequence[float], sizes: Sequence[int]) -> int:
    """Return the degrees of freedom by Welch and Satterthwaite, rounded down for the wider interval."""
    below = sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return int(sum(parts) ** 2 / below) if below else min(sizes) - 1


def _around(middle: float, error: float, freedom: int, *, paired: bool) -> Interval:
    reach = student_t(freedom) * error
    return Interval(exp(middle), exp(middle - reach), exp(middle + reach), paired)
