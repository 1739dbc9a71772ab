"""From the throughputs of a sweep to a size: the smallest that gives all but a tie band of the best; pure."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.experiments.advice import scalability
from benchmarks.experiments.advice.scalability import ScalabilityLaw

RESAMPLES = 400
RESERVE_SHARE = 0.1
FAR_OFF = 0.1


@dataclass(frozen=True)
class Recommendation:
    """A pool's size and reserve, the interval of the size (95 %, resampled runs), and where the knee is.

    `best` is the highest measured mean throughput and its size; `law` is None with too few sizes.
    """

    size: int
    reserve: int
    interval: tuple[int, int]
    knee: int
    best: tuple[int, float]
    law: ScalabilityLaw | None


def recommend(
    measured: Mapping[int, Sequence[float]], tie_band: float, seed: int = 0, resamples: int = RESAMPLES
) -> Recommendation | None:
    """Return the smallest size within the tie band of the best; None where nothing was measured.

    The interval rests on so many resamplings of the runs.
    """
    known = {size: list(values) for size, values in measured.items() if values}
    if not known:
        return None
    size = _smallest(known, tie_band)
    drawn = sorted(_resampled(known, tie_band, seed, resamples))
    interval = (drawn[int(0.025 * len(drawn))], drawn[min(len(drawn) - 1, int(0.975 * len(drawn)))])
    best = max(known, key=lambda one: fmean(known[one]))
    law = scalability.fit(known)
    return Recommendation(size, max(1, round(RESERVE_SHARE * size)), interval, size, (best, fmean(known[best])), law)


def _smallest(known: Mapping[int, Sequence[float]], tie_band: float) -> int:
    """Return the smallest measured size whose mean, smoothed by the law, is within the tie band of the best."""
    law = scalability.fit(known)
    smooth = {size: _smoothed(law, size, fmean(values), len(values)) for size, values in known.items()}
    enough = max(smooth.values()) * (1 - tie_band)
    return min(size for size, value in smooth.items() if value >= enough)


def _smoothed(law: ScalabilityLaw | None, size: int, mean: float, count: int) -> float:
    """Weigh a measured mean with the law's prediction, as one more run; a law that misses it by far counts nothing."""
    predicted = law.throughput(size) if law else mean
    return (mean * count + predicted) / (count + 1) if abs(predicted - mean) < FAR_OFF * mean else mean


def _resampled(known: Mapping[int, Sequence[float]], tie_band: float, seed: int, resamples: int) -> list[int]:
    draw = random.Random(seed)  # noqa: S311 (resampling, no secret)
    return [
        _smallest({size: draw.choices(values, k=len(values)) for size, values in known.items()}, tie_band)
        for _ in range(resamples)
    ]
