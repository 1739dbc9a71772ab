"""How often the 95 % interval contains the true ratio, under kinds of noise, beside bootstrap intervals."""

import random
from collections.abc import Callable
from math import exp, log, sqrt
from statistics import fmean, stdev

from benchmarks.analysis import batch_means, confidence_intervals
from benchmarks.analysis.confidence_intervals import Rule
from tests.bench.evidence import bootstrap, contention, noise
from tests.bench.evidence.table import Line, share

EFFECT = 1.10
COUNTS = (3, 5, 10, 20)
COUNTS_OF_BOOTSTRAP = (5, 10)
LOW, HIGH = 0.93, 0.97
BOOTSTRAPS = {
    "percentile bootstrap": bootstrap.percentile,
    "BCa bootstrap": bootstrap.bias_corrected,
    "studentized bootstrap": bootstrap.studentized,
}

Ends = tuple[float, float]


def student(trials: int, seed: int) -> list[Line]:
    """Return the coverage of the interval of pairs, and of Welch's under normal noise, for each number of pairs."""
    lines = []
    for kind in (*noise.NOISES, *contention.NOISES):
        for count in COUNTS:
            held = _coverage(kind, count, trials, seed, _student)
            lines.append(_line(f"{kind.name}, {count} pairs", held, trials, is_reference=kind.is_reference))
    for count in COUNTS:
        held = _coverage(noise.NOISES[0], count, trials, seed, _welch)
        lines.append(_line(f"normal, {count} runs each without pairs (Welch)", held, trials))
    return lines


def bootstraps(trials: int, seed: int) -> list[Line]:
    """Return the coverage of the bootstrap intervals."""
    lines = []
    for kind in noise.NOISES[:6]:
        for count in COUNTS_OF_BOOTSTRAP:
            for name, method in BOOTSTRAPS.items():
                held = _coverage(kind, count, trials, seed, _resampled(method, random.Random(seed)))
                lines.append(_line(f"{kind.name}, {count} pairs, {name}", held, trials, is_reference=True))
    return lines


def within_runs(trials: int, seed: int) -> list[Line]:
    """Return how often the intervals of a run's mean, over AR(1) samples, contain the true mean.

    Runs without an interval (see `batch_means.half_width_percent`) claim nothing and are left out.
    """
    lines = []
    for share_before in (0.0, 0.5, noise.AUTOCORRELATION):
        for count in (60, 300, 1200):
            draw = random.Random(seed)
            runs = [noise.samples(draw, count, share_before) for _ in range(trials)]
            for method, half_width in (("classic", _classic), ("batch means", _batches)):
                known = [(fmean(run), reach) for run in runs if (reach := half_width(run)) is not None]
                held = sum(abs(mean - 1) <= reach for mean, reach in known)
                name = f"AR(1) {share_before}, {count} samples, {method}"
                lines.append(_line(name, held, len(known), is_reference=half_width is _classic))
    return lines


def _coverage(kind: noise.Noise, count: int, trials: int, seed: int, interval: Callable[[noise.Pairs], Ends]) -> int:
    draw, truth, held = random.Random(seed), EFFECT * exp(kind.bias), 0
    for _ in range(trials):
        low, high = interval(kind.draw(draw, count, EFFECT))
        held += low <= truth <= high
    return held


def _student(pairs: noise.Pairs) -> Ends:
    found = confidence_intervals.of_pairs(pairs, Rule())
    assert found
    return found.low, found.high


def _welch(pairs: noise.Pairs) -> Ends:
    found = confidence_intervals.of_samples([one for one, _ in pairs], [other for _, other in pairs])
    assert found
    return found.low, found.high


def _resampled(
    method: Callable[[list[float], random.Random], Ends], draw: random.Random
) -> Callable[[noise.Pairs], Ends]:
    def interval(pairs: noise.Pairs) -> Ends:
        low, high = method([log(other / one) for one, other in pairs], draw)
        return exp(low), exp(high)

    return interval


def _classic(run: list[float]) -> float | None:
    return confidence_intervals.student_t(len(run) - 1) * stdev(run) / sqrt(len(run))


def _batches(run: list[float]) -> float | None:
    percent = batch_means.half_width_percent(run)
    return None if percent is None else percent * fmean(run) / 100


def _line(name: str, held: int, trials: int, *, is_reference: bool = False) -> Line:
    return Line(name, share(held, trials), trials, LOW, HIGH, is_reference)
