"""The figures of a pool or a pooler over an hour, a day or a week: minutes aggregated by the database, with gaps."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, FloatField, Max, Q, QuerySet, Sum, Value
from django.db.models.functions import NullIf

from pools.models import Entry, EntryMinute, Pool, Pooler, PoolerMinute, PoolMinute
from pools.monitoring import rates
from pools.monitoring.rates import FIGURES, WEIGHTS
from pools.poolers import KINDS

Rows = QuerySet[PoolMinute] | QuerySet[PoolerMinute] | QuerySet[EntryMinute]


@dataclass(frozen=True)
class Range:
    """A span back from now, and how many minutes make one point: at most about 300 points."""

    name: str
    minutes: int
    step: int


RANGES = {one.name: one for one in (Range("hour", 60, 1), Range("day", 24 * 60, 5), Range("week", 7 * 24 * 60, 40))}


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
    """Points in order of time, without steps that have no records; `begins` and `ends` are Unix times in s."""

    range: Range
    begins: int
    ends: int
    points: list[Point]


def of_pool(pool: Pool, range_: Range) -> History:
    """Average a pool's minutes over a range, without the figures that its kind of pooler does not count."""
    return _history(PoolMinute.objects.filter(pool=pool), range_, KINDS[pool.pooler.kind].uncounted)


def of_entry(entry: Entry, range_: Range) -> History:
    """Return the history of one entry that no pool stands for."""
    return _history(EntryMinute.objects.filter(entry=entry), range_, KINDS[entry.pooler.kind].uncounted)


def of_pooler(pooler: Pooler, range_: Range) -> History:
    """Return the history of all pools and other entries of a pooler together."""
    return _history(PoolerMinute.objects.filter(pooler=pooler), range_, KINDS[pooler.kind].uncounted)


def _history(rows: Rows, range_: Range, uncounted: Collection[str]) -> History:
    now = int(time.time() // 60)
    first = (now - range_.minutes) // range_.step * range_.step  # whole steps, so that a point does not move
    minutes = rows.filter(minute__gte=first).order_by()
    aggregated = minutes.annotate(begins=F("minute") - F("minute") % range_.step).values("begins")
    points = [_point(row, uncounted) for row in aggregated.annotate(**dict(_aggregates())).order_by("begins")]
    return History(range_, first * 60, (now + 1) * 60, points)


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
