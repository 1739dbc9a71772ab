"""Merges the samples of parts into those of the whole: rates and counts added, latencies weighted; pure.

An interval is emitted once every part has passed it, so that each figure is of all parts. A rate holds from the sample
before to its own, so an interval that a slow part skipped takes its share of the longer one that follows. Percentiles
come from the latencies of all parts in an interval, and are left out where those of a part are not known; a part's log
that was not complete when its interval ended is handed over late, and the percentiles are known then.
"""

import math
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.analysis.latency.intervals import KEPT, Figures
from benchmarks.engines.base import Progress
from benchmarks.models.metrics import SAMPLE_METRICS, Merge
from benchmarks.runs.execution import latency_exchange
from benchmarks.runs.execution.latency_exchange import Latencies

SNAP = 0.1  # share of an interval by which a program's report may come early or late and still belong to it
MOST_RETAINED = 3_600  # intervals; the block of a log that a program still holds back begins later than that


@dataclass(frozen=True, slots=True)
class _SampleSpan:
    """One sample, which holds for the time from `began` to `ended`."""

    began: float
    ended: float
    progress: Progress
    latencies: Latencies | None = None
    key: Hashable = None

    def transactions(self, began: float, ended: float) -> float:
        """Return the number of its transactions in that time."""
        overlap = min(ended, self.ended) - max(began, self.began)
        return max(0.0, overlap) * (self.progress.tps or 0.0)


_IntervalSamples = list[list[_SampleSpan]]  # the samples that end in an interval, by part


class Merger:
    """Takes each part's samples in order, and emits the intervals of the whole.

    It retains the latencies of the newest intervals, since late ones of one part are merged with those of the others.
    """

    def __init__(self, parts: Iterable[Hashable], interval_s: float) -> None:
        self._interval_s = interval_s
        self._stretches: dict[Hashable, list[_SampleSpan]] = {part: [] for part in parts}
        self._upto = dict.fromkeys(self._stretches, 0.0)
        self._emitted = 0
        self._retained: deque[tuple[int, _IntervalSamples]] = deque()  # place and samples of the newest intervals
        self._retained_latencies = 0

    def add(self, part: Hashable, progress: Progress, latencies: Latencies | None = None, key: Hashable = None) -> None:
        """Add the next sample of a part, and its latencies where known; ignore one that goes back in time.

        By its `key`, late latencies are told to be those of this sample.
        """
        ended = self._rounded_to_interval(progress.t)
        if ended > self._upto[part]:
            self._stretches[part].append(_SampleSpan(self._upto[part], ended, progress, latencies, key))
            self._upto[part] = ended

    def _rounded_to_interval(self, t: float) -> float:
        nearest = round(t / self._interval_s) * self._interval_s
        return nearest if abs(t - nearest) < SNAP * self._interval_s else t

    def completed_intervals(self) -> Iterator[Progress]:
        """Yield the intervals that all parts have passed and that were not emitted before."""
        while min(self._upto.values()) >= (ended := (self._emitted + 1) * self._interval_s):
            began = self._emitted * self._interval_s
            parts = list(self._stretches.values())
            by_part = [[one for one in part if began < one.ended <= ended] for part in parts]
            yield _merged(parts, by_part, began, ended)
            self._retain(by_part)
            self._emitted += 1
            for part, stretches in self._stretches.items():
                self._stretches[part] = [one for one in stretches if one.ended > ended]

    def _retain(self, by_part: _IntervalSamples) -> None:
        """Retain an interval's samples, and drop the oldest while too many latencies or intervals are retained."""
        self._retained.append((self._emitted, by_part))
        self._retained_latencies += _count(by_part)
        while len(self._retained) > MOST_RETAINED or (self._retained_latencies > KEPT and len(self._retained) > 1):
            self._retained_latencies -= _count(self._retained.popleft()[1])

    def corrected(self, late: Mapping[Hashable, Latencies]) -> dict[int, Figures]:
        """Return place (from 0) → percentiles of the emitted intervals that late latencies, by key, change."""
        changed = {}
        for place, by_part in self._retained:
            if any(one.key in late for part in by_part for one in part):
                changed[place] = _percentiles(
                    [[replace(one, latencies=late.get(one.key, one.latencies)) for one in part] for part in by_part]
                )
        return changed


def _count(by_part: _IntervalSamples) -> int:
    """Return the number of latencies retained for an interval."""
    return sum(len(one.latencies.us) for part in by_part for one in part if one.latencies)


def _merged(parts: list[list[_SampleSpan]], by_part: _IntervalSamples, began: float, ended: float) -> Progress:
    weighed = [(one.transactions(began, ended), one.progress) for part in parts for one in part]
    progresses = [one.progress for part in by_part for one in part]
    merged: dict[str, Any] = {"tps": round(sum(weight for weight, _ in weighed) / (ended - began), 3)}
    for metric in SAMPLE_METRICS:
        if metric.merge == Merge.MEAN:
            merged[metric.key] = _mean([(weight, getattr(one, metric.key)) for weight, one in weighed])
        elif metric.merge == Merge.STDDEV:
            merged[metric.key] = pooled_stddev([(weight, one.latency_ms, one.stddev_ms) for weight, one in weighed])
        elif metric.merge == Merge.SUM and metric.key not in merged:
            merged[metric.key] = _sum(getattr(one, metric.key) for one in progresses)
    return Progress(t=round(ended, 3), **merged, **_percentiles(by_part))


def _percentiles(by_part: _IntervalSamples) -> Figures:
    """Return the percentiles of the samples that end in an interval; empty where a part's are missing or unknown."""
    samples = [one.latencies for part in by_part for one in part]
    known = [one for one in samples if one is not None]
    return latency_exchange.percentiles(known) if all(by_part) and len(known) == len(samples) else {}


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(weighed: list[tuple[float, float | None]]) -> float | None:
    mean = weighted_mean(weighed)
    return None if mean is None else round(mean, 3)


def weighted_mean(weighed: list[tuple[float, float | None]]) -> float | None:
    """Return the weighted mean of the known values; None where no weight is left."""
    known = [(weight, value) for weight, value in weighed if value is not None]
    total_weight = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total_weight if total_weight else None


def pooled_stddev(groups: list[tuple[float, float | None, float | None]]) -> float | None:
    """Return the standard deviation of all values from each group's (count, mean, stddev); exact for counts."""
    known = [(count, mean, stddev) for count, mean, stddev in groups if mean is not None and stddev is not None]
    total_count = sum(count for count, _, _ in known)
    if not total_count:
        return None
    mean = sum(count * mean for count, mean, _ in known) / total_count
    squares = sum(count * (stddev**2 + own**2) for count, own, stddev in known) / total_count
    return round(math.sqrt(max(0.0, squares - mean**2)), 3)
