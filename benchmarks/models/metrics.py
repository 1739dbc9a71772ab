"""Registry of figures: label, unit, better direction, and how the figures of a distributed run's parts are merged.

Models, API, exports, thresholds, comparisons, merging and charts read it; pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

AT_LEAST: Final = "at_least"
AT_MOST: Final = "at_most"
PER_PERCENTILE = 100  # latencies that must lie above a percentile for it to be judged: 10,000 in all for a p99
PER_SHOWN_PERCENTILE = 10  # latencies that must lie above a percentile for it to be shown: 1,000 in all for a p99
Value = TypeVar("Value")
_PERCENTILE = re.compile(r"_p(\d+(?:_\d+)?)_ms$")


class Direction(StrEnum):
    """Direction in which a metric gets better."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


class Merge(StrEnum):
    """The way in which a distributed run's figure is computed from those of its parts."""

    SUM = "sum"
    MEAN = "mean"  # weighted by transactions
    STDDEV = "stddev"  # pooled, from counts, means and standard deviations
    HISTOGRAM = "histogram"  # computed from the merged latencies, since percentiles of parts can't be merged
    LARGEST = "largest"
    SMALLEST = "smallest"
    BY_KIND = "by kind"  # counts by kind, added
    SHARE = "share"  # share of all planned transactions, weighted by the count of the same name without `_percent`


@dataclass(frozen=True)
class SampleMetric:
    """One figure of each progress interval, a field of `engines.base.Progress` and of `models.Sample`."""

    key: str
    label: str | Promise
    unit: str
    merge: Merge
    is_charted: bool = False


@dataclass(frozen=True)
class Metric:
    """One figure of the summary: its key there, its label and unit for people, and the direction that is better.

    A metric without a label is stored and merged, but not compared. `threshold` is the usual bound of a threshold for
    this figure.
    """

    key: str
    merge: Merge
    label: str | Promise = ""
    unit: str = ""
    direction: Direction = Direction.NONE
    threshold: str = ""
    is_compared: bool = True

    @property
    def is_judged(self) -> bool:
        """True if a verdict can rest on it: on rates and times, which have a unit, but not on counts."""
        return bool(self.unit)

    @property
    def samples_needed(self) -> int:
        """Latencies that must be logged before a verdict may rest on this percentile; 0 for other figures."""
        return _latencies_for(self.key, above=PER_PERCENTILE)


def _latencies_for(key: str, *, above: int) -> int:
    """Return of how many latencies so many lie above a key's percentile; 0 for another figure."""
    found = _PERCENTILE.search(key)
    return max(1, round(above / (1 - float(found[1].replace("_", ".")) / 100))) if found else 0


def with_enough_behind(figures: Mapping[str, Value], latencies: float) -> dict[str, Value]:
    """Return the figures without the percentiles that too few latencies are behind to be shown.

    Of fewer than 10 / (1 - p) latencies not ten are expected above the percentile p, and it moves with each of them.
    """
    return {
        key: value for key, value in figures.items() if latencies >= _latencies_for(key, above=PER_SHOWN_PERCENTILE)
    }


SAMPLE_METRICS = (
    SampleMetric("tps", _("Throughput"), "tps", Merge.SUM, is_charted=True),
    SampleMetric("latency_ms", _("Latency, average"), "ms", Merge.MEAN, is_charted=True),
    SampleMetric("stddev_ms", _("Latency, standard deviation"), "ms", Merge.STDDEV, is_charted=True),
    SampleMetric("failed", _("Failed transactions"), "", Merge.SUM, is_charted=True),
    SampleMetric("lag_ms", _("Schedule lag, average"), "ms", Merge.MEAN),
    SampleMetric("skipped", _("Skipped as too late"), "", Merge.SUM),
    SampleMetric("retried", _("Retried transactions"), "", Merge.SUM),
    SampleMetric("retries", _("Retries"), "", Merge.SUM),
    SampleMetric("latency_p50_ms", _("Latency, median"), "ms", Merge.HISTOGRAM, is_charted=True),
    SampleMetric("latency_p95_ms", _("Latency, 95th percentile"), "ms", Merge.HISTOGRAM, is_charted=True),
    SampleMetric("latency_p99_ms", _("Latency, 99th percentile"), "ms", Merge.HISTOGRAM, is_charted=True),
)
SAMPLE_KEYS = tuple(one.key for one in SAMPLE_METRICS)


def _ms(key: str, merge: Merge, label: str | Promise, threshold: str = "") -> Metric:
    return Metric(key, merge, label, "ms", Direction.DOWN, threshold)


def _count(key: str, label: str | Promise, direction: Direction = Direction.DOWN) -> Metric:
    return Metric(key, Merge.SUM, label, "", direction)


def _stored(key: str, merge: Merge) -> Metric:
    return Metric(key, merge, is_compared=False)


REGISTRY = (
    Metric("tps", Merge.SUM, _("Throughput"), "tps", Direction.UP, AT_LEAST),
    _ms("latency_avg_ms", Merge.MEAN, _("Latency, average"), AT_MOST),
    _ms("latency_stddev_ms", Merge.STDDEV, _("Latency, standard deviation")),
    _ms("latency_p50_ms", Merge.HISTOGRAM, _("Latency, median"), AT_MOST),
    _ms("latency_p90_ms", Merge.HISTOGRAM, _("Latency, 90th percentile")),
    _ms("latency_p95_ms", Merge.HISTOGRAM, _("Latency, 95th percentile"), AT_MOST),
    _ms("latency_p99_ms", Merge.HISTOGRAM, _("Latency, 99th percentile"), AT_MOST),
    _ms("latency_p99_9_ms", Merge.HISTOGRAM, _("Latency, 99.9th percentile")),
    _ms("service_p50_ms", Merge.HISTOGRAM, _("Service time, median")),
    _ms("service_p95_ms", Merge.HISTOGRAM, _("Service time, 95th percentile")),
    _ms("service_p99_ms", Merge.HISTOGRAM, _("Service time, 99th percentile")),
    Metric("failed_percent", Merge.SHARE, _("Failed transactions"), "%", Direction.DOWN, AT_MOST, is_compared=False),
    _ms("lag_avg_ms", Merge.MEAN, _("Schedule lag, average"), AT_MOST),
    _ms("lag_max_ms", Merge.LARGEST, _("Schedule lag, maximum")),
    _ms("average_connection_ms", Merge.MEAN, _("Connecting, average")),
    _ms("initial_connection_ms", Merge.LARGEST, _("Connecting all clients at the start")),
    _count("transactions", _("Transactions"), Direction.NONE),
    _count("failed", _("Failed transactions")),
    _count("serialization_failures", _("Failed: serialization")),
    _count("deadlock_failures", _("Failed: deadlock")),
    _count("other_failures", _("Failed: other errors")),
    _count("retried", _("Retried transactions")),
    _count("retries", _("Retries")),
    _count("skipped", _("Skipped as too late")),
    _count("above_latency_limit", _("Above the latency limit")),
    _count("latency_samples", _("Transactions behind the percentiles"), Direction.NONE),
    _count("effective_clients", _("Clients busy on average"), Direction.NONE),
    _stored("tps_including_connections", Merge.SUM),
    _stored("transactions_expected", Merge.SUM),
    _stored("above_latency_limit_of", Merge.SUM),
    _stored("clients", Merge.SUM),
    _stored("threads", Merge.SUM),
    _stored("bytes", Merge.SUM),
    _stored("megabytes_per_second", Merge.SUM),
    _stored("reads", Merge.SUM),
    _stored("writes", Merge.SUM),
    _stored("other_queries", Merge.SUM),
    _stored("queries", Merge.SUM),
    _stored("queries_per_second", Merge.SUM),
    _stored("reconnects", Merge.SUM),
    _stored("rate", Merge.SUM),
    _stored("latency_sum_ms", Merge.SUM),
    _stored("retried_percent", Merge.SHARE),
    _stored("skipped_percent", Merge.SHARE),
    _stored("errors", Merge.BY_KIND),
    _stored("latency_max_ms", Merge.LARGEST),
    _stored("latency_min_ms", Merge.SMALLEST),
    _stored("duration_s", Merge.LARGEST),
    _stored("elapsed_s", Merge.LARGEST),
)
BY_KEY = {metric.key: metric for metric in REGISTRY}
METRICS = tuple(metric for metric in REGISTRY if metric.is_compared)
JUDGED = tuple(metric.key for metric in METRICS if metric.is_judged)
THRESHOLDS = {metric.key: metric for metric in REGISTRY if metric.threshold}
