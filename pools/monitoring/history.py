"""The figures of a pool, an entry or a pooler over a window of time: minutes aggregated by the database, with gaps."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, FloatField, Max, Q, QuerySet, Sum, Value
from django.db.models.functions import NullIf

from pools.models import Entry, EntryMinute, Pool, Pooler, PoolerMinute, PoolMinute
from pools.monitoring import rates
from pools.monitoring.rates import FIGURES, WEIGHTS
from pools.monitoring.windows import Window
from pools.poolers import KINDS

Rows = QuerySet[PoolMinute] | QuerySet[PoolerMinute] | QuerySet[EntryMinute]


@dataclass(frozen=True)
class Point:
    """The averages and maxima of one step, None where unknown; `at` is its beginning (Unix time, s)."""

    at: int
    snapshots: int
    average: dict[str, float | None]
    maximum: dict[str, float | None]

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)


@dataclass(frozen=True)
class History:
    """Points in order of time, without steps that have no records."""

    window: Window
    points: list[Point]


def of_pool(pool: Pool, window: Window) -> History:
    """Average a pool's minutes over a window, without the figures that its kind of pooler does not count."""
    return _history(PoolMinute.objects.filter(pool=pool), window, KINDS[pool.pooler.kind].uncounted)


def of_entry(entry: Entry, window: Window) -> History:
    """Return the history of one entry that no pool stands for."""
    return _history(EntryMinute.objects.filter(entry=entry), window, KINDS[entry.pooler.kind].uncounted)


def of_pooler(pooler: Pooler, window: Window) -> History:
    """Return the history of all pools and other entries of a pooler together."""
    return _history(PoolerMinute.objects.filter(pooler=pooler), window, KINDS[pooler.kind].uncounted)


def _history(rows: Rows, window: Window, uncounted: Collection[str]) -> History:
    minutes = rows.filter(minute__gte=window.begins, minute__lt=window.ends).order_by()
    step = F("minute") - (F("minute") - window.begins) % window.step
    aggregated = minutes.annotate(begins=step).values("begins")
    points = [_point(row, uncounted) for row in aggregated.annotate(**dict(_aggregates())).order_by("begins")]
    return History(window, points)


def _aggregates() -> Iterator[tuple[str, Any]]:
    yield "all_snapshots", Sum("snapshots")
    for name in FIGURES:
        average = f"{name}_avg"
        weight = F("snapshots") * F(f"{WEIGHTS[name]}_avg") if name in WEIGHTS else F("snapshots") * Value(1.0)
        known = Sum(weight, filter=Q(**{f"{average}__isnull": False}), output_field=FloatField())
        weighted = Sum(F(average) * weight, output_field=FloatField())
        yield f"mean_{name}", weighted / NullIf(known, Value(0.0))
        yield f"most_{name}", Max(f"{name}_max")


def _point(row: Mapping[str, Any], uncounted: Collection[str]) -> Point:
    return Point(
        at=row["begins"] * 60,
        snapshots=row["all_snapshots"],
        average=rates.without_uncounted({name: row[f"mean_{name}"] for name in FIGURES}, uncounted),
        maximum=rates.without_uncounted({name: row[f"most_{name}"] for name in FIGURES}, uncounted),
    )
