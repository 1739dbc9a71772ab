"""Runs of two arms as different machines produce them: pairs of figures, and the true logarithm of their ratio."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean

SPREAD = 0.05  # standard deviation of a run's figure, as a share
SLOW_SHARE, SLOW_BY = 0.15, 0.75  # share of slow runs, and the factor of their figures
SKEW = 0.8  # standard deviation of the logarithm of a lognormal deviation
DRIFT = 0.30  # the machine's slowdown at the end of an experiment
SAMPLES, AUTOCORRELATION = 60, 0.8

Deviation = Callable[[random.Random], float]  # deviation of the logarithm of a figure
Pairs = list[tuple[float, float]]


@dataclass(frozen=True)
class Noise:
    """One kind of noise: draws n pairs whose second figures are `effect` times the first."""

    name: str
    draw: Callable[[random.Random, int, float], Pairs]
    bias: float = 0.0  # bias of the mean log ratio, which the noise itself causes
    is_reference: bool = False  # as the panel does not measure, or a limit that no interval of so few pairs overcomes


def normal(draw: random.Random) -> float:
    return draw.gauss(0, SPREAD)


def student_t3(draw: random.Random) -> float:
    """Heavy tails, scaled to the common spread (the variance of t with 3 degrees of freedom is 3)."""
    return SPREAD / sqrt(3) * draw.gauss(0, 1) / sqrt(draw.gammavariate(1.5, 2) / 3)


def lognormal(draw: random.Random) -> float:
    """A long tail towards slow runs: the time that a run takes beyond its best is lognormal."""
    return -SPREAD * exp(draw.gauss(0, SKEW))


def slow_at_times(draw: random.Random) -> float:
    return normal(draw) + (log(SLOW_BY) if draw.random() < SLOW_SHARE else 0.0)


def autocorrelated_run(draw: random.Random) -> float:
    """The mean of a run's samples, each like the one before it (AR(1)); samples vary by four times the spread."""
    return log(max(1e-9, fmean(samples(draw, SAMPLES))))


def samples(draw: random.Random, count: int, share: float = AUTOCORRELATION) -> list[float]:
    """Return samples around 1 that follow an AR(1) process; their standard deviation is 4 × `SPREAD`."""
    spread = 4 * SPREAD
    deviation, found = draw.gauss(0, spread), []
    for _ in range(count):
        deviation = share * deviation + draw.gauss(0, spread * sqrt(1 - share**2))
        found.append(1 + deviation)
    return found


def _independent(base: Deviation, other: Deviation) -> Callable[[random.Random, int, float], Pairs]:
    def pairs(draw: random.Random, count: int, effect: float) -> Pairs:
        return [(exp(base(draw)), effect * exp(other(draw))) for _ in range(count)]

    return pairs


def _drifting(order: Callable[[int], bool]) -> Callable[[random.Random, int, float], Pairs]:
    """Draw pairs on a machine that slows down steadily; `order` says whether a pair begins with the second arm."""

    def pairs(draw: random.Random, count: int, effect: float) -> Pairs:
        found = []
        for block in range(count):
            early, late = (exp(-DRIFT * (2 * block + at) / (2 * count) + normal(draw)) for at in (0, 1))
            base, other = (late, early) if order(block) else (early, late)
            found.append((base, effect * other))
        return found

    return pairs


def abba(block: int) -> bool:
    return block % 2 == 1


def abab(block: int) -> bool:
    return False


NOISES = (
    Noise("normal", _independent(normal, normal)),
    Noise("Student's t3 (heavy tails)", _independent(student_t3, student_t3)),
    Noise("lognormal (skewed) in both arms", _independent(lognormal, lognormal)),
    Noise("lognormal (skewed) in one arm", _independent(normal, lognormal), bias=-SPREAD * exp(SKEW**2 / 2)),
    Noise("slow runs in both arms", _independent(slow_at_times, slow_at_times)),
    # Of 5 pairs 44 % have no slow run, of 10 pairs 20 %: no method knows of a slowness that it never saw.
    Noise(
        "slow runs in one arm",
        _independent(normal, slow_at_times),
        bias=SLOW_SHARE * log(SLOW_BY),
        is_reference=True,
    ),
    Noise("drift of 30 %, ABBA", _drifting(abba)),
    Noise("drift of 30 %, ABAB", _drifting(abab), is_reference=True),
    Noise("means of AR(1) samples", _independent(autocorrelated_run, autocorrelated_run)),
)
