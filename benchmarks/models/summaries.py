"""The keys of `Run.summary` and `Run.statements`: the figures that load programs print, and those the panel adds.

A key is absent where nothing was printed, and None where a NaN was. `benchmarks.models.metrics` has units and labels.
"""

from collections.abc import Mapping
from typing import TypedDict, cast


class Figures(TypedDict, total=False):
    """Figures of a whole run, or of one of its scripts."""

    # figures that any program can have
    tps: float | None
    tps_including_connections: float | None
    latency_avg_ms: float | None
    latency_stddev_ms: float | None
    latency_min_ms: float | None
    latency_max_ms: float | None
    latency_p50_ms: float | None
    latency_p90_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    latency_p99_9_ms: float | None
    service_p50_ms: float | None
    service_p95_ms: float | None
    service_p99_ms: float | None
    latency_samples: int
    transactions: int
    failed: int
    clients: int
    threads: int
    effective_clients: float
    average_connection_ms: float | None
    initial_connection_ms: float | None
    elapsed_s: float
    duration_s: int
    # pgbench's figures
    transaction_type: str
    scale: int
    partition_method: str
    partitions: int
    query_mode: str
    max_tries: int
    transactions_per_client: int
    transactions_expected: int
    failed_percent: float | None
    serialization_failures: int
    serialization_failures_percent: float | None
    deadlock_failures: int
    deadlock_failures_percent: float | None
    other_failures: int
    other_failures_percent: float | None
    retried: int
    retried_percent: float | None
    retries: int
    skipped: int
    skipped_percent: float | None
    latency_limit_ms: float | None
    above_latency_limit: int
    above_latency_limit_of: int
    above_latency_limit_percent: float | None
    lag_avg_ms: float | None
    lag_max_ms: float | None
    random_seed: int
    # sysbench's figures
    rate: float
    queries: int
    queries_per_second: float
    reconnects: int
    reads: int
    writes: int
    other_queries: int
    latency_sum_ms: float
    events_each: float
    events_each_stddev: float
    working_each_s: float
    working_each_stddev_s: float
    # figures of the panel's own programs
    bytes: int
    megabytes_per_second: float | None
    generator_cpu_percent: float
    errors: dict[str, int]


class ScriptSummary(Figures, total=False):
    """The figures of one of several scripts."""

    name: str
    weight: int
    target_percent: float | None
    percent: float | None


class StageSummary(Figures, total=False):
    """The figures of one stage, with what was asked for: `clients`, `duration_s`, and `rate` if it had one.

    It began at `began_s` on the run's clock; `status` is one of `benchmarks.models.run_states`.
    """

    began_s: float
    status: str
    error: str


class Summary(Figures, total=False):
    """The figures of a run; `scripts` where it had several, `stages` where its load had them, as far as they began."""

    scripts: list[ScriptSummary]
    stages: list[StageSummary]


class Statement(TypedDict, total=False):
    """The figures of one statement; `script` counts from 1."""

    script: int
    latency_ms: float | None
    failures: int | None
    retries: int | None
    statement: str


def with_figures(summary: Summary, figures: Mapping[str, float]) -> Summary:
    """Return the summary with figures that are named by the registry of metrics."""
    return cast("Summary", {**summary, **figures})
