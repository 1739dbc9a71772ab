"""A minute's average and maximum of each figure, from the snapshots in it; pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pools.monitoring import rates
from pools.monitoring.rates import FIGURES, WEIGHTS, Reading
from pools.poolers.console_sample import Counters, PoolFigures

USUAL_S = 10.0  # the interval of a snapshot without a predecessor
Folded = dict[str, float | None]  # `FIGURE_avg` and `FIGURE_max` of each figure
Course = Sequence[tuple[float, Reading]]  # (seconds that a reading covers, the reading)


@dataclass(frozen=True)
class Snapshot:
    """A pooler's pools at one time (Unix, in s), without those that were never used.

    `counters` is None for a kind of pooler that does not count.
    """

    at: float
    figures: dict[str, PoolFigures]
    counters: dict[str, Counters] | None


def aggregate_minute(
    snapshots: Iterable[Snapshot], pools: Collection[str], minute: int
) -> tuple[dict[str, Folded], Folded, int]:
    """Return the pools' figures by name over one minute (since 1970), the pooler's, and the number of snapshots.

    Snapshots are in order of time; the last one before the minute only gives its initial counters.
    """
    before, within = _split(snapshots, minute)
    pairs = list(pairwise([before, *within]))
    courses: dict[str, list[tuple[float, Reading]]] = {name: [] for name in pools}
    all_of_it: list[tuple[float, Reading]] = []
    for last, now in pairs:
        if now is None:
            continue
        lasted = min(now.at - last.at, 60.0) if last else USUAL_S
        readings = {name: _reading(last, now, name) for name in pools}
        for name, one in readings.items():
            courses[name].append((lasted, one))
        all_of_it.append((lasted, rates.total(readings.values())))
    return {name: summary(time_series) for name, time_series in courses.items()}, summary(all_of_it), len(within)


def time_series(snapshots: Iterable[Snapshot], name: str | None) -> list[tuple[float, Reading]]:
    """Return (time, figures) of one pool at each snapshot but the first, or of all pools together without a name."""
    series = []
    for last, now in pairwise(snapshots):
        names = now.figures if name is None else [name]
        readings = [_reading(last, now, one) for one in names]
        series.append((now.at, rates.total(readings) if name is None else readings[0]))
    return series


def summary(course: Course) -> Folded:
    """Return the average of each figure, weighted by time (times by what ended), and its maximum."""
    folded: Folded = {}
    for name in FIGURES:
        weight = WEIGHTS.get(name)
        weighted = [(one[name], lasted * ((one[weight] or 0) if weight else 1)) for lasted, one in course]
        folded[f"{name}_avg"] = rates.mean(weighted)
        folded[f"{name}_max"] = max((value for value, _ in weighted if value is not None), default=None)
    return folded


def _split(snapshots: Iterable[Snapshot], minute: int) -> tuple[Snapshot | None, list[Snapshot]]:
    """Return the last snapshot before a minute, and those in it."""
    listed = list(snapshots)
    earlier = [one for one in listed if one.at < minute * 60]
    within = [one for one in listed if minute * 60 <= one.at < (minute + 1) * 60]
    return (earlier[-1] if earlier else None), within


def _reading(last: Snapshot | None, now: Snapshot, name: str) -> Reading:
    """Return the figures of a pool; unlisted pools are idle, and new ones did everything since the last snapshot."""
    figures = now.figures.get(name, PoolFigures())
    if last is None or last.counters is None or now.counters is None:
        return rates.reading(figures, None)
    before, after = (one.get(name, Counters()) for one in (last.counters, now.counters))
    return rates.reading(figures, rates.between(before, after, now.at - last.at))
