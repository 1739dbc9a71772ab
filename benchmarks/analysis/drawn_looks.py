"""The looks of a run as compact rows for its charts, thinned where there are many; the database keeps them all."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

from django.db.models import Count, Q
from django.db.models.functions import Floor, Mod

from benchmarks.analysis.downsampling import Row, thinned
from benchmarks.models import Look, LookKind, Run

DRAWN_AT_MOST = 4_000  # rows of one kind sent to a browser: some for each pixel
READ_AT_MOST = 12_000  # rows of one kind read for it: beyond, only those of each so many seconds are
Place = tuple[int, int]
# What an eye follows in the chart of each kind; the rest is thinned along with it.
FOLLOWED: dict[str, Callable[[dict[str, Any]], float | None]] = {
    LookKind.POOLER: lambda figures: figures.get("wait_ms"),
    LookKind.SERVER: lambda figures: sum(figures.get("waits", {}).values()),
    LookKind.HOST: lambda figures: figures.get("cpu_percent"),
    LookKind.GENERATOR: lambda figures: figures.get("cpu_percent"),
}


def tables(run: Run, upto: Place) -> dict[str, dict[str, Any]]:
    """`{columns, rows}` by kind, of the looks up to a place in the run's events; kinds without looks are left out."""
    counts = dict(run.looks.order_by().values_list("kind").annotate(count=Count("pk")))
    return {kind: _table(kind, _rows(run, kind, count, upto)) for kind, count in sorted(counts.items())}


def checkpoints(run: Run, upto: Place) -> list[tuple[float, int, int]]:
    """`(t, timed, requested)` of each look in which checkpoints began: these marks are never thinned."""
    timed = Q(figures__checkpoints_timed__gt=0)
    began = run.looks.filter(timed | Q(figures__checkpoints_requested__gt=0), kind=LookKind.SERVER)
    return [
        (look.t, look.figures["checkpoints_timed"], look.figures["checkpoints_requested"])
        for look in began
        if (look.attempt, look.seq) <= upto
    ]


def _rows(run: Run, kind: str, count: int, upto: Place) -> list[Row]:
    """`(t, figures)` in order."""
    looks = Look.objects.filter(run=run, kind=kind)
    if (step := -(-count // READ_AT_MOST)) > 1:
        looks = looks.annotate(left_out=Mod(Floor("t"), step)).filter(left_out__lt=1)
    listed = looks.values_list("attempt", "seq", "t", "figures")
    return [(t, figures) for attempt, seq, t, figures in listed if (attempt, seq) <= upto]


def _table(kind: str, rows: list[Row]) -> dict[str, Any]:
    followed = FOLLOWED[kind]
    drawn = thinned(rows, DRAWN_AT_MOST, t=itemgetter(0), value=lambda row: followed(row[1]))
    names = _names(row[1] for row in drawn)
    return {"columns": ("t", *names), "rows": [(t, *(figures.get(name) for name in names)) for t, figures in drawn]}


def _names(figures: Iterable[dict[str, Any]]) -> list[str]:
    """All names of figures there are, in the order in which they came."""
    return list(dict.fromkeys(name for one in figures for name in one))
