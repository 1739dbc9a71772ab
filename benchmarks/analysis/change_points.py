"""Where the level of repeated measurements moved for good: change points of a series in the order of time; pure.

The method is that of Hunter (Fleming et al. 2023, "Hunter: Using Change Point Detection to Hunt for Performance
Regressions"), which Apache Otava ships: the divergence of e-divisive (Matteson and James 2014) proposes where to split
a window, Student's t test decides, and the weakest of the points found are merged away. Two things are stricter than in
Otava, of whose points with p ≤ 0.001 noise alone has some in a year of nights: the t test takes the unbiased variance,
and as each place is the best of many, its p-value is multiplied by their number (Bonferroni).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt
from statistics import fmean

from benchmarks.analysis.confidence_intervals import Interval, of_samples, outside_t

WINDOW = 50  # values that are split at once: within them the level may have moved a few times, not a hundred times
MAX_P = 0.005  # by simulation at most one false alarm in a year of nights, with heavy tails too
WEAK_BY = 10  # a point may be so many times less sure while the points beside it are still to be merged
# With fewer values on a side one night that went wrong would be a change; so would the first and the last night be.
FEWEST = 3


@dataclass(frozen=True)
class Rule:
    """What counts as a change: its largest p-value, its least size as a share, and the fewest values on each side."""

    max_p: float = MAX_P
    least_change: float = 0.0
    fewest: int = FEWEST


STRICT = Rule()


@dataclass(frozen=True)
class ChangePoint:
    """A change of the level, `at` the index of the first value after it.

    `p` is the p-value of the t test of both sides times the number of places that it was chosen among. `before` and
    `after` are the values between this change and the ones beside it.
    """

    at: int
    p: float
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The mean after it divided by the mean before; infinite after a mean of 0."""
        base = fmean(self.before)
        return fmean(self.after) / base if base else inf

    @property
    def interval(self) -> Interval | None:
        """The ratio with its 95 % interval (Welch, of logarithms); None at values of 0 or fewer than three a side."""
        return of_samples(self.before, self.after)

    @property
    def size(self) -> float:
        """The change as a share of the smaller level, so that halving and doubling are alike."""
        return max(abs(self.ratio - 1), abs(1 / self.ratio - 1)) if self.ratio > 0 else inf


def change_points(values: Sequence[float], rule: Rule = STRICT) -> list[ChangePoint]:
    """Return the change points in the order of the values, none where the level never moved beyond chance."""
    found = _judged(sorted(set(_split(values, rule))), values, rule)
    while found and (weakest := _weakest(found, rule)):
        found = _judged([one.at for one in found if one is not weakest], values, rule)
    return found


def _weakest(found: list[ChangePoint], rule: Rule) -> ChangePoint | None:
    """Return the point that counts least, None if each of them is sure and large enough."""
    unsure = max(found, key=lambda one: one.p)
    if unsure.p > rule.max_p:
        return unsure
    small = min(found, key=lambda one: one.size)
    return small if small.size < rule.least_change else None


def _judged(places: list[int], values: Sequence[float], rule: Rule) -> list[ChangePoint]:
    """Return the points at these places, each judged by the values up to the places beside it."""
    parts = [tuple(values[start:end]) for start, end in pairwise([0, *places, len(values)])]
    return [
        ChangePoint(at, min(1.0, _p_of(before, after) * _choices(len(before) + len(after), rule)), before, after)
        for at, (before, after) in zip(places, pairwise(parts), strict=True)
    ]


def _choices(count: int, rule: Rule) -> int:
    """Return at how many places so many values could have been split."""
    return max(1, count - 2 * rule.fewest + 1)


def _split(values: Sequence[float], rule: Rule) -> Iterator[int]:
    """Yield the weak points of overlapping windows; each window begins at the last point of the one before it."""
    start, weak_p = 0, rule.max_p * WEAK_BY
    while start < len(values):
        end = min(start + WINDOW, len(values))
        points = [start + at for at in _points_of(_Divergence(values[start:end]), weak_p, rule.fewest)]
        yield from points
        start = max([start + WINDOW // 2, *points])


def _points_of(window: "_Divergence", max_p: float, fewest: int) -> list[int]:
    """Return the places at which the window splits until no part of it splits any more, in order."""
    places: list[int] = []
    while True:
        parts = list(pairwise([0, *places, len(window.values)]))
        splits = [(window.best_split(start, end, fewest), start, end) for start, end in parts]
        (_, at), start, end = max(splits, default=((-inf, 0), 0, 0))
        if not at or _p_of(window.values[start:at], window.values[at:end]) > max_p:
            return places
        places = sorted([*places, at])


class _Divergence:
    """The divergence of any two neighboring parts of a window, from sums of distances that are made once."""

    def __init__(self, values: Sequence[float]) -> None:
        self.values = values
        self._sums = [[0.0] * (len(values) + 1)]
        for value in values:
            row, total = [0.0], 0.0
            for other, above in zip(values, self._sums[-1][1:], strict=True):
                total += abs(value - other)
                row.append(above + total)
            self._sums.append(row)

    def best_split(self, start: int, end: int, fewest: int) -> tuple[float, int]:
        """Return the largest divergence of the part, and where its second side begins; place 0 if it is too short.

        Of what follows the place as much is taken as diverges most, so that a second change does not hide the first.
        """
        places = range(start + fewest, end - fewest + 1)
        found = ((self._between(start, at, stop), at) for at in places for stop in range(at + fewest, end + 1))
        return max(found, default=(-inf, 0))

    def _between(self, start: int, at: int, stop: int) -> float:
        """Return Q of both sides (Matteson and James 2014, (7)), with the exponent 1."""
        left, right = at - start, stop - at
        across = self._sum(start, at, at, stop)
        alike_left = self._sum(start, at, start, at) / 2 / (left - 1) if left > 1 else 0.0
        alike_right = self._sum(at, stop, at, stop) / 2 / (right - 1) if right > 1 else 0.0
        return 2 / (left + right) * (across - right * alike_left - left * alike_right)

    def _sum(self, top: int, bottom: int, first: int, last: int) -> float:
        """Return the sum of the distances of each value of one part to each of the other."""
        sums = self._sums
        return sums[bottom][last] - sums[top][last] - sums[bottom][first] + sums[top][first]


def _p_of(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the two-sided p-value of Student's t test; 1 with fewer than three values."""
    freedom = len(left) + len(right) - 2
    if freedom < 1:
        return 1.0
    apart, squares = abs(fmean(left) - fmean(right)), _squares(left) + _squares(right)
    error = sqrt(squares / freedom * (1 / len(left) + 1 / len(right)))
    if not error:
        return 0.0 if apart else 1.0
    return outside_t(apart / error, freedom)


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)
