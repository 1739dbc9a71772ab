"""One figure of a cluster's poolers over a window of time: what the pools and entries that lead to it do on each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db.models import Count, F, FloatField, Max, Q, QuerySet, Sum

from core.accounts.access import Access
from pools.models import Cluster, EntryMinute, Pooler, PoolMinute
from pools.monitoring.rates import WEIGHTS
from pools.monitoring.windows import Window
from pools.poolers import KINDS

Points = dict[int, float]  # beginning of a step (Unix, s) → value
Rows = list[dict[str, Any]]
LONGEST_WAIT = "maxwait_ms"


@dataclass
class _Sums:
    """What the pools and the entries of one pooler add up to in one step."""

    value: float = 0.0
    weight: float = 0.0
    parts: list[float] = field(default_factory=list)


def poolers_of(cluster: Cluster, access: Access) -> QuerySet[Pooler]:
    """Return those of the poolers in front of a cluster that the caller may see, by name."""
    leads_there = Q(pools__cluster=cluster, pools__removal_requested_at=None) | Q(entries__cluster=cluster)
    return access.visible(Pooler.objects.filter(leads_there)).order_by("name").distinct()


def of_cluster(cluster: Cluster, poolers: Sequence[Pooler], figure: str, window: Window) -> dict[UUID, Points]:
    """Return the figure of each pooler by its id: sums of counts and rates, weighted means of times, the longest wait.

    Two queries, however many poolers there are. A pooler of a kind that does not count the figure has no points.
    """
    counting = [pooler.pk for pooler in poolers if figure not in KINDS[pooler.kind].uncounted]
    pools = PoolMinute.objects.filter(pool__cluster=cluster, pool__pooler__in=counting)
    entries = EntryMinute.objects.filter(entry__cluster=cluster, entry__pooler__in=counting)
    rows = [*_stepped(pools, "pool__pooler", figure, window), *_stepped(entries, "entry__pooler", figure, window)]
    found: dict[UUID, dict[int, _Sums]] = {pooler.pk: {} for pooler in poolers}
    for row in rows:
        sums = found[row["pooler"]].setdefault(row["begins"] * 60, _Sums())
        _add(sums, figure, row)
    return {key: dict(sorted(_points(steps, figure))) for key, steps in found.items()}


def _stepped(minutes: QuerySet[Any], pooler: str, figure: str, window: Window) -> Rows:
    within = minutes.filter(minute__gte=window.begins, minute__lt=window.ends).order_by()
    begins = F("minute") - (F("minute") - window.begins) % window.step
    grouped = within.annotate(begins=begins, pooler=F(pooler)).values("pooler", "begins")
    return list(grouped.annotate(**_aggregates(figure)))


def _aggregates(figure: str) -> dict[str, Any]:
    average = F(f"{figure}_avg")
    if figure == LONGEST_WAIT:
        return {"value": Max(f"{figure}_max"), "weight": Count("pk")}
    if figure in WEIGHTS:
        weight = F(f"{WEIGHTS[figure]}_avg")
        known = Sum(weight, filter=Q(**{f"{figure}_avg__isnull": False}), output_field=FloatField())
        return {"value": Sum(average * weight, output_field=FloatField()), "weight": known}
    return {"value": Sum(average), "weight": Count("minute", distinct=True)}


def _add(sums: _Sums, figure: str, row: dict[str, Any]) -> None:
    if row["value"] is None or not row["weight"]:
        return
    if figure in WEIGHTS:
        sums.value += row["value"]
        sums.weight += row["weight"]
    else:
        sums.parts.append(row["value"] if figure == LONGEST_WAIT else row["value"] / row["weight"])


def _points(steps: dict[int, _Sums], figure: str) -> Iterator[tuple[int, float]]:
    for at, sums in steps.items():
        if figure in WEIGHTS and sums.weight:
            yield at, sums.value / sums.weight
        elif sums.parts:
            yield at, max(sums.parts) if figure == LONGEST_WAIT else sum(sums.parts)
