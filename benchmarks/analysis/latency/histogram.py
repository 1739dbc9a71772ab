"""Latencies as an HDR histogram, which keeps three significant digits and merges without loss; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, log10

from hdrh.histogram import HdrHistogram

from benchmarks.models.metrics import with_enough_behind

PERCENTILES = {"p50": 50.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99_9": 99.9}
LONGEST_US = 100_000_000_000  # more than a day, the longest run; a histogram holds nothing above it
DIGITS = 3
FIRM_COUNT = 10_000  # A p99 of fewer latencies is rough: only a hundred of these lie above it.
UNRECORDED = 20_000  # different latencies
WEIGHT_STEPS = 1_000  # resolution of the weights with which parts are merged


@dataclass(frozen=True)
class Bar:
    """The number of latencies above `from_ms` and up to `to_ms`."""

    from_ms: float
    to_ms: float
    count: int


class Histogram:
    """HDR histogram of latencies in whole microseconds; its percentiles are in milliseconds."""

    def __init__(self) -> None:
        self._recorded = HdrHistogram(1, LONGEST_US, DIGITS)
        # The histogram does not have these yet: recording is slow, and most values recur.
        self._counted: Counter[int] = Counter()

    def add(self, latencies_us: Iterable[int]) -> None:
        """Count each latency once."""
        self._counted.update(latencies_us)
        if len(self._counted) > UNRECORDED:
            self._record()

    def add_counted(self, latencies_ms: Iterable[tuple[float, int]]) -> None:
        """Count `(latency in ms, times)` pairs; a latency above `LONGEST_US` counts as that."""
        for latency_ms, times in latencies_ms:
            self._counted[min(LONGEST_US, max(1, round(latency_ms * 1000)))] += times

    def _record(self) -> None:
        for latency_us, times in self._counted.items():
            self._recorded.record_value(latency_us, times)
        self._counted.clear()

    @property
    def _hdr(self) -> HdrHistogram:
        if self._counted:
            self._record()
        return self._recorded

    @property
    def count(self) -> int:
        return int(self._hdr.get_total_count())

    def percentiles_ms(self, logged: int | None = None) -> dict[str, float]:
        """Return `p50 p90 p95 p99 p99_9` in milliseconds, without those that too few latencies are behind.

        `logged` are the latencies in all, where the counts are weights (`merged`).
        """
        if not self.count:
            return {}
        found = self._hdr.get_percentile_to_value_dict(list(PERCENTILES.values()))
        keyed = {f"latency_{name}_ms": name for name in PERCENTILES}
        enough = with_enough_behind(keyed, self.count if logged is None else logged)
        return {name: found[PERCENTILES[name]] / 1000 for name in enough.values()}

    def bars(self, per_decade: int = 10) -> list[Bar]:
        """Return the counts in steps of equal ratio from fastest to slowest, including empty steps between them."""
        steps = {
            step: sum(times for _, times in group)
            for step, group in groupby(self._in_order(), lambda one: floor(log10(max(one[0], 1)) * per_decade))
        }
        edge = [10 ** (step / per_decade) / 1000 for step in range(min(steps), max(steps) + 2)] if steps else []
        first = min(steps, default=0)
        return [Bar(edge[at], edge[at + 1], steps.get(first + at, 0)) for at in range(len(edge) - 1)]

    def _in_order(self) -> Iterator[tuple[int, int]]:
        """Yield each latency in order with its count."""
        for item in self._hdr.get_recorded_iterator():
            yield item.value_iterated_to, item.count_added_in_this_iter_step

    def encoded(self) -> str:
        """Return the base64 form that all implementations of HDR histograms read (V2, compressed)."""
        return str(self._hdr.encode(), "ascii")

    def add_encoded(self, encoded: str, times: int = 1) -> None:
        """Add all latencies of another histogram in its base64 form, each so many times."""
        other = HdrHistogram.decode(encoded)
        if times == 1:
            self._hdr.add(other)
            return
        for item in other.get_recorded_iterator():
            self._hdr.record_value(item.value_iterated_to, item.count_added_in_this_iter_step * times)


def merged(parts: Iterable[tuple[str, float]]) -> Histogram:
    """Merge histograms given as (base64 form, number of transactions that it stands for).

    Each part weighs as much as its transactions, however densely they were logged. Where densities differ, the merged
    counts are in thousandths of the sparsest part's.
    """
    listed = [(encoded, transactions / max(1, decoded_count(encoded))) for encoded, transactions in parts]
    sparsest = max((each for _, each in listed), default=1.0)
    alike = all(each > sparsest * (1 - 1 / WEIGHT_STEPS) for _, each in listed)
    whole = Histogram()
    for encoded, each in listed:
        whole.add_encoded(encoded, 1 if alike else max(1, round(WEIGHT_STEPS * each / sparsest)))
    return whole


def decoded_count(encoded: str) -> int:
    """Return the number of latencies in a histogram in its base64 form."""
    return int(HdrHistogram.decode(encoded).get_total_count())


def percentile(ordered: list[int], share: float) -> int:
    """Return the value at this share (0 to 100) of a sorted, non-empty list, by nearest rank."""
    return ordered[max(0, ceil(share / 100 * len(ordered)) - 1)]
