"""What the charts of a run are drawn from: its samples as compact rows, and the span of time they share."""

from typing import Any

from django.db.models import Avg, Count, F, Q, Sum

from benchmarks.models import PoolSample, Run, Sample

DRAWN_AT_MOST = 20_000  # rows of one kind sent to a browser; longer runs are thinned, never cut
SAMPLE_COLUMNS = ("attempt", "seq", "t", "tps", "latency_ms", "stddev_ms", "failed")
POOL_COLUMNS = ("attempt", "seq", "t", "cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")

BEGINNING = (0, 0)

Row = tuple[Any, ...]


def course(run: Run) -> dict[str, Any]:
    """The samples and pool samples of a run as `{columns, rows}`, with the planned `span` in seconds or None.

    `after` is the id up to which both are complete: the place in the run's events where a watcher goes on.
    """
    upto = max(_last_place(Sample, run), _last_place(PoolSample, run))
    return {
        "span": planned_seconds(run),
        "after": f"{upto[0]}-{upto[1]}",
        "samples": _table(SAMPLE_COLUMNS, _rows(Sample, SAMPLE_COLUMNS, run, upto)),
        "pool": _table(POOL_COLUMNS, _rows(PoolSample, POOL_COLUMNS, run, upto)),
    }


def planned_seconds(run: Run) -> float | None:
    """How long the load was to take; None when its end is a number of transactions, or not known."""
    duration = run.options.get("duration")
    return None if run.options.get("transactions") else duration


def failed_so_far(run: Run) -> int:
    """Failed transactions of all samples; once the program printed its own count, that."""
    printed = run.summary.get("failed")
    return printed if printed is not None else run.samples.aggregate(total=Sum("failed"))["total"] or 0


def partial_summary(run: Run) -> dict[str, float]:
    """Figures over the progress lines of a run that printed no summary; latency is weighted by throughput."""
    samples = run.samples.filter(tps__isnull=False).order_by()
    found = samples.aggregate(
        count=Count("pk"),
        mean_tps=Avg("tps"),
        weight=Sum("tps", filter=Q(latency_ms__isnull=False)),
        weighted=Sum(F("tps") * F("latency_ms")),
        all_failed=Sum("failed"),
    )
    if not found["count"]:
        return {}
    figures = {"tps": found["mean_tps"], "failed": found["all_failed"]}
    return figures | ({"latency_avg_ms": found["weighted"] / found["weight"]} if found["weight"] else {})


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


def _last_place(model: type[Sample] | type[PoolSample], run: Run) -> tuple[int, int]:
    places = model.objects.filter(run=run).order_by("-attempt", "-seq").values_list("attempt", "seq")
    return places.first() or BEGINNING


def _rows(
    model: type[Sample] | type[PoolSample], columns: tuple[str, ...], run: Run, upto: tuple[int, int]
) -> list[Row]:
    """Rows up to a place: what is written between two queries comes by the run's events, once."""
    return [row for row in model.objects.filter(run=run).values_list(*columns) if row[:2] <= upto]


def _table(columns: tuple[str, ...], rows: list[Row]) -> dict[str, Any]:
    return {"columns": columns, "rows": thinned(rows, DRAWN_AT_MOST, columns.index("t") + 1)}
