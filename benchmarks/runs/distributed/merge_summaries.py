"""The summary of a whole from those of its parts; pure.

Counts and rates are added, times weighted by transactions; a percentile of parts says nothing of the whole and is left
to the merged histograms. What is neither is kept where all parts say the same.
"""

from collections import Counter
from typing import Any

from benchmarks.runs.distributed.merge_samples import pooled_stddev, weighted_mean

ADDED = frozenset(
    {
        "tps",
        "tps_including_connections",
        "transactions",
        "transactions_expected",
        "failed",
        "serialization_failures",
        "deadlock_failures",
        "other_failures",
        "retried",
        "retries",
        "skipped",
        "above_latency_limit",
        "above_latency_limit_of",
        "latency_samples",
        "clients",
        "threads",
        "effective_clients",
        "bytes",
        "megabytes_per_second",
        "reads",
        "writes",
        "other_queries",
        "queries",
        "queries_per_second",
        "reconnects",
        "latency_sum_ms",
    }
)
COUNTED_BY_KIND = frozenset({"errors"})
LARGEST = frozenset({"initial_connection_ms", "lag_max_ms", "latency_max_ms", "duration_s", "elapsed_s"})
SMALLEST = frozenset({"latency_min_ms"})
WEIGHTED = frozenset({"latency_avg_ms", "lag_avg_ms", "average_connection_ms"})
SHARES = {f"{name}_percent": name for name in ("failed", "retried", "skipped")}  # of all that were to be done

Summary = dict[str, Any]


def merged(summaries: list[Summary]) -> Summary:
    """One summary of all; a figure that a part lacks is left out, for a sum without it would be wrong."""
    common = [name for name in summaries[0] if all(name in one for one in summaries)] if summaries else []
    found = {name: _figure(name, summaries) for name in common}
    return {name: value for name, value in found.items() if value is not None}


def _figure(name: str, summaries: list[Summary]) -> Any:
    values = [one[name] for one in summaries]
    if any(value is None for value in values):
        return None
    if name in ADDED:
        return _tidy(sum(values))
    if name in COUNTED_BY_KIND:
        return _added_by_kind(values)
    if name in LARGEST | SMALLEST:
        return max(values) if name in LARGEST else min(values)
    weights = [float(one.get("transactions") or 0) for one in summaries]
    if name in WEIGHTED:
        return _tidy(weighted_mean(list(zip(weights, values, strict=True))))
    if name == "latency_stddev_ms":
        means = [one.get("latency_avg_ms") for one in summaries]
        return pooled_stddev(list(zip(weights, means, values, strict=True)))
    if name in SHARES:
        return _percent(SHARES[name], summaries)
    is_figure = name.endswith(("_ms", "_percent"))
    return None if is_figure or any(value != values[0] for value in values) else values[0]


def _added_by_kind(counts: list[dict[str, int]]) -> dict[str, int]:
    """Kind → how often, the most frequent first."""
    whole: Counter[str] = Counter()
    for one in counts:
        whole.update(one)
    return dict(whole.most_common())


def _percent(name: str, summaries: list[Summary]) -> float | None:
    part = sum(one.get(name) or 0 for one in summaries)
    whole = sum(sum(one.get(each) or 0 for each in ("transactions", "failed", "skipped")) for one in summaries)
    return round(100 * part / whole, 3) if whole else None


def _tidy(value: float | None) -> float | None:
    return round(value, 6) if isinstance(value, float) else value


def statements(of_parts: list[list[dict[str, Any]]], weights: list[float]) -> list[dict[str, Any]]:
    """The statements of a script over all parts; none where the parts did not run the same ones."""
    names = [[(one["script"], one["statement"]) for one in rows] for rows in of_parts]
    if not names or any(one != names[0] for one in names):
        return []
    return [_statement(list(rows), weights) for rows in zip(*of_parts, strict=True)]


def _statement(rows: list[dict[str, Any]], weights: list[float]) -> dict[str, Any]:
    latency_ms = weighted_mean([(weight, row["latency_ms"]) for weight, row in zip(weights, rows, strict=True)])
    counts = {name: _count([row[name] for row in rows]) for name in ("failures", "retries")}
    return rows[0] | {"latency_ms": None if latency_ms is None else round(latency_ms, 3), **counts}


def _count(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
