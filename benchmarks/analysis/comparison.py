"""What runs are compared by: the figures of a summary, and the settings in which runs differ; pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.engines.pgbench import scripts

PROGRAM = "load program"
SEEDS = frozenset({"random_seed"})  # repeats may each have their own
PER_PERCENTILE = 100  # latencies that must lie above a percentile for it to be judged: 10,000 in all for a p99
_PERCENTILE = re.compile(r"_p(\d+(?:_\d+)?)_ms$")
IDLE_SHARE = 0.10  # clients at work are told beside the number asked for where they differ by so much


class Direction(StrEnum):
    """Which way a metric is better."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


@dataclass(frozen=True)
class Metric:
    """A figure of the summary: its key there, its name and unit for people, the direction that is better."""

    key: str
    label: str
    unit: str
    direction: Direction

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


METRICS = (
    Metric("tps", "Throughput", "tps", Direction.UP),
    Metric("latency_avg_ms", "Latency, average", "ms", Direction.DOWN),
    Metric("latency_stddev_ms", "Latency, standard deviation", "ms", Direction.DOWN),
    Metric("latency_p50_ms", "Latency, median", "ms", Direction.DOWN),
    Metric("latency_p90_ms", "Latency, 90th percentile", "ms", Direction.DOWN),
    Metric("latency_p95_ms", "Latency, 95th percentile", "ms", Direction.DOWN),
    Metric("latency_p99_ms", "Latency, 99th percentile", "ms", Direction.DOWN),
    Metric("latency_p99_9_ms", "Latency, 99.9th percentile", "ms", Direction.DOWN),
    Metric("service_p50_ms", "Service time, median", "ms", Direction.DOWN),
    Metric("service_p95_ms", "Service time, 95th percentile", "ms", Direction.DOWN),
    Metric("service_p99_ms", "Service time, 99th percentile", "ms", Direction.DOWN),
    Metric("lag_avg_ms", "Behind the schedule, average", "ms", Direction.DOWN),
    Metric("lag_max_ms", "Behind the schedule, at most", "ms", Direction.DOWN),
    Metric("average_connection_ms", "Connecting, average", "ms", Direction.DOWN),
    Metric("initial_connection_ms", "Connecting all clients at the start", "ms", Direction.DOWN),
    Metric("transactions", "Transactions", "", Direction.NONE),
    Metric("failed", "Failed transactions", "", Direction.DOWN),
    Metric("serialization_failures", "Failed: serialization", "", Direction.DOWN),
    Metric("deadlock_failures", "Failed: deadlock", "", Direction.DOWN),
    Metric("other_failures", "Failed: other errors", "", Direction.DOWN),
    Metric("retried", "Retried transactions", "", Direction.DOWN),
    Metric("retries", "Retries", "", Direction.DOWN),
    Metric("skipped", "Skipped as too late", "", Direction.DOWN),
    Metric("above_latency_limit", "Above the latency limit", "", Direction.DOWN),
    Metric("latency_samples", "Transactions behind the percentiles", "", Direction.NONE),
    Metric("effective_clients", "Clients busy on average", "", Direction.NONE),
)


BY_KEY = {metric.key: metric for metric in METRICS}
JUDGED = tuple(metric.key for metric in METRICS if metric.is_judged)


@dataclass(frozen=True)
class Difference:
    """A setting in which the arms are not alike, so that their figures answer different questions."""

    name: str
    values: tuple[str, ...]


def settings_in_words(options: Mapping[str, Any], engine: str, server_version: str) -> dict[str, Any]:
    """What makes a configuration, by name: options as they can be told, the load program, the server's version.

    Scripts are told by their names, without their texts, and variables one after the other.
    """
    reported = {name: value for name, value in options.items() if name not in SEEDS}
    if reported.get("scripts"):
        reported |= {"builtin": None, "scripts": scripts.in_words(reported)}
    if reported.get("variables"):
        reported["variables"] = ", ".join(f"{name} = {value!r}" for name, value in reported["variables"].items())
    return {**reported, PROGRAM: engine, "server version": server_version}


def differences(described: Sequence[Mapping[str, Any]]) -> tuple[Difference, ...]:
    """The load program first, then whatever is not the same in all, by name."""
    names = sorted({name for one in described for name in one}, key=lambda name: (name != PROGRAM, name))
    every = (Difference(name, tuple(_text(one.get(name)) for one in described)) for name in names)
    return tuple(difference for difference in every if len(set(difference.values)) > 1)


def clients_asked(options: Mapping[str, Any]) -> float | None:
    """The workers that a load was asked for: clients, an HTTP load's concurrency, else sysbench's threads."""
    return options.get("clients") or options.get("concurrency") or options.get("threads")


def idle_clients(options: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[float, float] | None:
    """(at work, asked) where Little's law (tps × latency) finds another number of clients at work than was asked for.

    Under a rate clients wait on purpose: there it is no finding, and None too.
    """
    asked, busy = clients_asked(options), summary.get("effective_clients")
    if not asked or busy is None or options.get("rate") or abs(busy - asked) < IDLE_SHARE * asked:
        return None
    return busy, asked


def _text(value: object) -> str:
    if value in (None, ""):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
