"""Logged latencies of a run, sorted into its progress intervals by the time at which each transaction ended; pure.

A program writes its log in blocks, so lines arrive after the progress line of their interval. They are added to the
interval they belong to, and `changed` lists the intervals that they changed. While most of an interval's lines are
still in the program's buffer, it has no percentiles: those of the few that came first would be drawn as its own.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import TypedDict, cast

from benchmarks.analysis.latency.histogram import Histogram, percentile
from benchmarks.engines.log_files import LoggedTransaction
from benchmarks.models.metrics import with_enough_behind

KEPT = 400_000  # latencies of the newest intervals held for late lines; the histogram has all of them
MOST = 0.9  # share of an interval's transactions; a log with fewer is incomplete
SHOWN = {"latency_p50_ms": 50.0, "latency_p95_ms": 95.0, "latency_p99_ms": 99.0}


class Figures(TypedDict, total=False):
    """The percentiles of an interval, as far as enough latencies are behind them."""

    latency_p50_ms: float
    latency_p95_ms: float
    latency_p99_ms: float


class Intervals:
    """`whole` counts every latency; under a rate, `service` counts every latency without the wait for its start."""

    def __init__(self) -> None:
        self.whole = Histogram()
        self.service = Histogram()
        self._later: list[LoggedTransaction] = []  # transactions of the open interval
        self._ends: list[int] = []
        self._latencies: list[array[int]] = []
        self._forgotten = 0  # intervals whose latencies were dropped
        self._held = 0
        self.is_complete = True  # the log of the interval that ended last
        self._changed: set[int] = set()

    def add(self, logged: Sequence[LoggedTransaction], *, scheduled: bool = False) -> None:
        """Count the transactions, and sort those of finished intervals into them."""
        self.whole.add([one.latency_us for one in logged])
        if scheduled:
            self.service.add(max(0, one.latency_us - one.lag_us) for one in logged)
        last_end = self._ends[-1] if self._ends else 0
        self._later += [one for one in logged if one.at_us > last_end]
        for one in logged:
            if one.at_us <= last_end:
                self._add_late(one)

    def _add_late(self, one: LoggedTransaction) -> None:
        place = bisect_left(self._ends, one.at_us)
        if place >= self._forgotten:
            self._latencies[place].append(one.latency_us)
            self._held += 1
            self._changed.add(place)

    def end(self, at_us: int, expected: float = 0.0) -> Figures:
        """Close the interval up to this time; return `latency_p50_ms latency_p95_ms latency_p99_ms` as known so far.

        Without those that too few latencies are behind; empty where no latency is known, or fewer than most of those
        `expected`: such an interval is among the `changed` ones, whose figures are known in the end.
        """
        now = [one for one in self._later if one.at_us <= at_us]
        self._later = [one for one in self._later if one.at_us > at_us]
        self._ends.append(max(at_us, self._ends[-1] if self._ends else 0))
        self._latencies.append(array("Q", [one.latency_us for one in now]))
        self._held += len(now)
        self.is_complete = len(now) >= MOST * expected
        if not self.is_complete:
            self._changed.add(len(self._ends) - 1)
        self._forget()
        return _figures(self.last) if self.is_complete else {}

    def _forget(self) -> None:
        """Drop the oldest intervals while more than `KEPT` latencies are held."""
        while self._held > KEPT and self._forgotten < len(self._latencies) - 1:
            self._held -= len(self._latencies[self._forgotten])
            self._latencies[self._forgotten] = array("Q")
            self._changed.discard(self._forgotten)
            self._forgotten += 1

    @property
    def last(self) -> Sequence[int]:
        """The latencies of the interval that ended last, as known so far, in microseconds."""
        return self._latencies[-1] if self._latencies else ()

    def changed(self) -> dict[int, Figures]:
        """Return place (from 0) → figures of the intervals that late lines changed."""
        return {place: _figures(latencies_us) for place, latencies_us in self.changed_latencies().items()}

    def changed_latencies(self) -> dict[int, Sequence[int]]:
        """Return place (from 0) → all latencies, in microseconds, of the intervals that late lines changed."""
        return {place: self._latencies[place] for place in sorted(self._changed)}


def _figures(latencies_us: Sequence[int]) -> Figures:
    ordered = sorted(latencies_us)
    enough = with_enough_behind(SHOWN, len(ordered))
    return cast("Figures", {name: percentile(ordered, share) / 1000 for name, share in enough.items()})
