"""Merges the summaries of parts into that of the whole; pure.

Counts and rates are added, times weighted by transactions; percentiles are left to the merged histograms. Other values
are kept where all parts agree.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from benchmarks.models.metrics import BY_KEY, Merge
from benchmarks.models.summaries import Statement, Summary
from benchmarks.runs.distributed.merge_samples import pooled_stddev, weighted_mean


def merged(summaries: Sequence[Summary]) -> Summary:
    """Return one summary of all; a figure that a part lacks is left out, since a sum without it would be wrong."""
    common = [name for name in summaries[0] if all(name in one for one in summaries)] if summaries else []
    figures = {name: _figure(name, summaries) for name in common}
    return cast("Summary", {name: value for name, value in figures.items() if value is not None})


def _figure(name: str, summaries: Sequence[Mapping[str, Any]]) -> object:
    values = [one[name] for one in summaries]
    if any(value is None for value in values):
        return None
    weights = [float(one.get("transactions") or 0) for one in summaries]
    match BY_KEY[name].merge if name in BY_KEY else None:
        case Merge.SUM:
            return _six_decimals(sum(values))
        case Merge.BY_KIND:
            return _added_by_kind(values)
        case Merge.LARGEST:
            return max(values)
        case Merge.SMALLEST:
            return min(values)
        case Merge.MEAN:
            return _six_decimals(weighted_mean(list(zip(weights, values, strict=True))))
        case Merge.STDDEV:
            means = [one.get("latency_avg_ms") for one in summaries]
            return pooled_stddev(list(zip(weights, means, values, strict=True)))
        case Merge.SHARE:
            return _percent(name.removesuffix("_percent"), summaries)
    is_figure = name.endswith(("_ms", "_percent"))
    return None if is_figure or any(value != values[0] for value in values) else values[0]


def _added_by_kind(counts: list[dict[str, int]]) -> dict[str, int]:
    """Add the counts by kind, the most frequent first."""
    totals: Counter[str] = Counter()
    for one in counts:
        totals.update(one)
    return dict(totals.most_common())


def _percent(name: str, summaries: Sequence[Mapping[str, Any]]) -> float | None:
    part = sum(one.get(name) or 0 for one in summaries)
    total = sum(sum(one.get(each) or 0 for each in ("transactions", "failed", "skipped")) for one in summaries)
    return round(100 * part / total, 3) if total else None


def _six_decimals(value: float | None) -> float | None:
    return round(value, 6) if isinstance(value, float) else value


def statements(of_parts: list[list[Statement]], weights: list[float]) -> list[Statement]:
    """Return a script's statements over all parts; empty where the parts did not run the same ones."""
    names = [[(one["script"], one["statement"]) for one in rows] for rows in of_parts]
    if not names or any(one != names[0] for one in names):
        return []
    return [_statement(list(rows), weights) for rows in zip(*of_parts, strict=True)]


def _statement(rows: list[Statement], weights: list[float]) -> Statement:
    latency_ms = weighted_mean([(weight, row["latency_ms"]) for weight, row in zip(weights, rows, strict=True)])
    return {
        **rows[0],
        "latency_ms": None if latency_ms is None else round(latency_ms, 3),
        "failures": _count([row["failures"] for row in rows]),
        "retries": _count([row["retries"] for row in rows]),
    }


def _count(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
