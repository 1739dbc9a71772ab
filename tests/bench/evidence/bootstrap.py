"""Bootstrap intervals of a mean beside Student's: percentile, BCa and studentized (Efron and Tibshirani, 1993)."""

import random
from math import sqrt
from statistics import NormalDist, fmean, stdev

RESAMPLES = 400
ALPHA = 0.05
_normal = NormalDist()

Ends = tuple[float, float]


def percentile(values: list[float], draw: random.Random) -> Ends:
    """Return the 2.5 % and 97.5 % quantiles of the means of resamples."""
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return _quantile(means, ALPHA / 2), _quantile(means, 1 - ALPHA / 2)


def bias_corrected(values: list[float], draw: random.Random) -> Ends:
    """Return the BCa interval: percentiles shifted for bias and skewness (the acceleration by jackknife)."""
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    middle = fmean(values)
    below = min(max(sum(one < middle for one in means), 1), RESAMPLES - 1) / RESAMPLES
    bias = _normal.inv_cdf(below)
    skew = [value - middle for value in values]  # proportional to the jackknife's differences
    scale = sum(one**2 for one in skew) ** 1.5
    acceleration = sum(one**3 for one in skew) / (6 * scale) if scale else 0.0

    def end(share: float) -> float:
        z = bias + _normal.inv_cdf(share)
        return _quantile(means, _normal.cdf(bias + z / (1 - acceleration * z)))

    return end(ALPHA / 2), end(1 - ALPHA / 2)


def studentized(values: list[float], draw: random.Random) -> Ends:
    """Return the bootstrap-t interval; resamples of one value only, which have no spread, are left out."""
    middle, error, found = fmean(values), stdev(values) / sqrt(len(values)), []
    for _ in range(RESAMPLES):
        again = draw.choices(values, k=len(values))
        if spread := stdev(again):
            found.append((fmean(again) - middle) / (spread / sqrt(len(again))))
    found.sort()
    return middle - _quantile(found, 1 - ALPHA / 2) * error, middle - _quantile(found, ALPHA / 2) * error


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(max(round(share * (len(ordered) - 1)), 0), len(ordered) - 1)]
