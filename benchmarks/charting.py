"""What the charts of a run are drawn from: its samples as compact rows, and the span of time they share."""

from typing import Any

from benchmarks.models import PoolSample, Run, Sample

DRAWN_AT_MOST = 20_000  # rows of one kind sent to a browser; longer runs are thinned, never cut
SAMPLE_COLUMNS = ("attempt", "seq", "t", "tps", "latency_ms", "stddev_ms", "failed")
POOL_COLUMNS = ("attempt", "seq", "t", "cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")

Row = tuple[Any, ...]


def course(run: Run) -> dict[str, Any]:
    """The samples and pool samples of a run as `{columns, rows}`, with the planned `span` in seconds or None."""
    return {
        "span": planned_seconds(run),
        "samples": _table(SAMPLE_COLUMNS, list(Sample.objects.filter(run=run).values_list(*SAMPLE_COLUMNS))),
        "pool": _table(POOL_COLUMNS, list(PoolSample.objects.filter(run=run).values_list(*POOL_COLUMNS))),
    }


def planned_seconds(run: Run) -> float | None:
    """How long the load was to take; None when its end is a number of transactions, or not known."""
    duration = run.options.get("duration")
    return None if run.options.get("transactions") else duration


def thinned(rows: list[Row], at_most: int, column: int) -> list[Row]:
    """The rows in order, of each stretch of time only those with the lowest and highest value of a column."""
    if len(rows) <= at_most:
        return rows
    stretch = -(-2 * len(rows) // at_most)
    kept: list[Row] = []
    for start in range(0, len(rows), stretch):
        part = range(start, min(start + stretch, len(rows)))
        by_value = sorted(part, key=lambda at: rows[at][column] or 0)
        kept.extend(rows[at] for at in sorted({by_value[0], by_value[-1]}))
    return kept


def _table(columns: tuple[str, ...], rows: list[Row]) -> dict[str, Any]:
    return {"columns": columns, "rows": thinned(rows, DRAWN_AT_MOST, columns.index("t") + 1)}
