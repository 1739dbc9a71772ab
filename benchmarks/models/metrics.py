"""The registry of figures: what they are called, their unit, which way is better, and how those of parts become one.

Models, API, exports, thresholds, comparisons, merging and charts read it; pure.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

AT_LEAST, AT_MOST = "at_least", "at_most"
PER_PERCENTILE = 100  # latencies that must lie above a percentile for it to be judged: 10,000 in all for a p99
_PERCENTILE = re.compile(r"_p(\d+(?:_\d+)?)_ms$")


class Direction(StrEnum):
    """Which way a metric is better."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


class Merge(StrEnum):
    """How the figure of a run over several generators comes from those of its parts."""

    SUM = "sum"
    MEAN = "mean"  # weighted by transactions
    STDDEV = "stddev"  # pooled, from counts, means and standard deviations
    HISTOGRAM = "histogram"  # from the merged latencies: percentiles of parts say nothing of the whole
    LARGEST = "largest"
    SMALLEST = "smallest"
    BY_KIND = "by kind"  # counts by kind, added
    SHARE = "share"  # of all that were to be done, by the count of the same name without `_percent`


@dataclass(frozen=True)
class SampleMetric:
    """A figure of each progress interval, as `engines.base.Progress` and `models.Sample` have it."""

    key: str
    label: str
    unit: str
    merge: Merge
    is_charted: bool = False


@dataclass(frozen=True)
class Metric:
    """A figure of the summary: its key there, its name and unit for people, the direction that is better.

    One without a label is kept and merged, and not compared. `threshold` is the bound that it usually has as one.
    """

    key: str
    merge: Merge
    label: str = ""
    unit: str = ""
    direction: Direction = Direction.NONE
    threshold: str = ""
    is_compared: bool = True

    @property
    def is_judged(self) -> bool:
        """Whether one can be faster by it: rates and times are, counts are not."""
        return bool(self.unit)

    @property
    def samples_needed(self) -> int:
        """How many latencies have to be logged for it to be judged; 0 of what is no percentile."""
        found = _PERCENTILE.search(self.key)
        share = float(found[1].replace("_", ".")) / 100 if found else 0.0
        return round(PER_PERCENTILE / (1 - share)) if found else 0


SAMPLE_METRICS = (
    SampleMetric("tps", "Throughput", "tps", Merge.SUM, is_charted=True),
    SampleMetric("latency_ms", "Latency, average", "ms", Merge.MEAN, is_charted=True),
    SampleMetric("stddev_ms", "Latency, standard deviation", "ms", Merge.STDDEV, is_charted=True),
    SampleMetric("failed", "Failed transactions", "", Merge.SUM, is_charted=True),
    SampleMetric("lag_ms", "Schedule lag, average", "ms", Merge.MEAN),
    SampleMetric("skipped", "Skipped as too late", "", Merge.SUM),
    SampleMetric("retried", "Retried transactions", "", Merge.SUM),
    SampleMetric("retries", "Retries", "", Merge.SUM),
    SampleMetric("latency_p50_ms", "Latency, median", "ms", Merge.HISTOGRAM, is_charted=True),
    SampleMetric("latency_p95_ms", "Latency, 95th percentile", "ms", Merge.HISTOGRAM, is_charted=True),
    SampleMetric("latency_p99_ms", "Latency, 99th percentile", "ms", Merge.HISTOGRAM, is_charted=True),
)
SAMPLE_KEYS = tuple(one.key for one in SAMPLE_METRICS)


def _ms(key: str, merge: Merge, label: str, threshold: str = "") -> Metric:
    return Metric(key, merge, label, "ms", Direction.DOWN, threshold)


def _count(key: str, label: str, direction: Direction = Direction.DOWN) -> Metric:
    return Metric(key, Merge.SUM, label, "", direction)


REGISTRY = (
    Metric("tps", Merge.SUM, "Throughput", "tps", Direction.UP, AT_LEAST),
    _ms("latency_avg_ms", Merge.MEAN, "Latency, average", AT_MOST),
    _ms("latency_stddev_ms", Merge.STDDEV, "Latency, standard deviation"),
    _ms("latency_p50_ms", Merge.HISTOGRAM, "Latency, median", AT_MOST),
    _ms("latency_p90_ms", Merge.HISTOGRAM, "Latency, 90th percentile"),
    _ms("latency_p95_ms", Merge.HISTOGRAM, "Latency, 95th percentile", AT_MOST),
    _ms("latency_p99_ms", Merge.HISTOGRAM, "Latency, 99th percentile", AT_MOST),
    _ms("latency_p99_9_ms", Merge.HISTOGRAM, "Latency, 99.9th percentile"),
    _ms("service_p50_ms", Merge.HISTOGRAM, "Service time, median"),
    _ms("service_p95_ms", Merge.HISTOGRAM, "Service time, 95th percentile"),
    _ms("service_p99_ms", Merge.HISTOGRAM, "Service time, 99th percentile"),
    Metric("failed_percent", Merge.SHARE, "Failed transactions", "%", Direction.DOWN, AT_MOST, is_compared=False),
    _ms("lag_avg_ms", Merge.MEAN, "Schedule lag, average", AT_MOST),
    _ms("lag_max_ms", Merge.LARGEST, "Schedule lag, maximum"),
    _ms("average_connection_ms", Merge.MEAN, "Connecting, average"),
    _ms("initial_connection_ms", Merge.LARGEST, "Connecting all clients at the start"),
    _count("transactions", "Transactions", Direction.NONE),
    _count("failed", "Failed transactions"),
    _count("serialization_failures", "Failed: serialization"),
    _count("deadlock_failures", "Failed: deadlock"),
    _count("other_failures", "Failed: other errors"),
    _count("retried", "Retried transactions"),
    _count("retries", "Retries"),
    _count("skipped", "Skipped as too late"),
    _count("above_latency_limit", "Above the latency limit"),
    _count("latency_samples", "Transactions behind the percentiles", Direction.NONE),
    _count("effective_clients", "Clients busy on average", Direction.NONE),
    Metric("tps_including_connections", Merge.SUM),
    Metric("transactions_expected", Merge.SUM),
    Metric("above_latency_limit_of", Merge.SUM),
    Metric("clients", Merge.SUM),
    Metric("threads", Merge.SUM),
    Metric("bytes", Merge.SUM),
    Metric("megabytes_per_second", Merge.SUM),
    Metric("reads", Merge.SUM),
    Metric("writes", Merge.SUM),
    Metric("other_queries", Merge.SUM),
    Metric("queries", Merge.SUM),
    Metric("queries_per_second", Merge.SUM),
    Metric("reconnects", Merge.SUM),
    Metric("latency_sum_ms", Merge.SUM),
    Metric("retried_percent", Merge.SHARE),
    Metric("skipped_percent", Merge.SHARE),
    Metric("errors", Merge.BY_KIND),
    Metric("latency_max_ms", Merge.LARGEST),
    Metric("latency_min_ms", Merge.SMALLEST),
    Metric("duration_s", Merge.LARGEST),
    Metric("elapsed_s", Merge.LARGEST),
)
BY_KEY = {metric.key: metric for metric in REGISTRY}
METRICS = tuple(metric for metric in REGISTRY if metric.label and metric.is_compared)
JUDGED = tuple(metric.key for metric in METRICS if metric.is_judged)
THRESHOLDS = {metric.key: metric for metric in REGISTRY if metric.threshold}
