"""Page of the poolers of a cluster beside each other: one figure, a chart for each of them, and one scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from core.lib.figures import figure_or_dash
from pools.console import tables
from pools.models import Cluster, Pooler
from pools.monitoring import cluster_history, marks
from pools.monitoring.cluster_history import Points
from pools.monitoring.marks import Mark
from pools.monitoring.windows import Window
from pools.views import chart_window
from pools.views.charts import BY_NAME, CSV, TILES

USUAL = "sv_active"
MOST_SHOWN = 24  # charts on a page


@dataclass(frozen=True)
class Row:
    """One step: its beginning, and the figure of each pooler, None where nothing was recorded."""

    at: datetime
    values: list[float | None]

    @property
    def cells(self) -> list[str]:
        return [figure_or_dash(value) for value in self.values]


@require_safe
@needs("cluster.view")
def cluster_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figure that `?figure=` names of each pooler in front of a cluster, or as CSV."""
    cluster, access = find(request, Cluster.objects.all(), pk=pk), Access.of(request)
    with timezone.override(chart_window.zone_of(request)):
        choice = chart_window.choice(request, usual="hour")
        tile = BY_NAME.get(request.GET.get("figure", ""), BY_NAME[USUAL])
        poolers = list(cluster_history.poolers_of(cluster, access))
        shown = poolers[:MOST_SHOWN]
        found = cluster_history.of_cluster(cluster, shown, tile.name, choice.window)
        rows = _rows(shown, found)
        if request.GET.get("as") == "csv":
            return _csv(f"pooldeck-{slugify(cluster.name)}-{tile.name}.csv", shown, rows)
        course, happened = _course(cluster, access, choice.window, found, shown)
        course |= {"zone": str(choice.zone), "label": str(tile.label), "unit": tile.unit}
        context = {"cluster": cluster, "poolers": shown, "left_out": len(poolers) - len(shown), "rows": rows[::-1]}
        context |= {"choice": choice, "chosen": choice.name, "kept": [("figure", tile.name)]}
        context |= {"tile": tile, "figures": TILES, "course": course, "marks": happened}
        context["mark_kinds"] = marks.kinds_of(happened, is_live=False)
        return render(request, "pools/cluster_monitoring.html", context, status=422 if choice.form.errors else 200)


def _course(
    cluster: Cluster, access: Access, window: Window, found: Mapping[UUID, Points], poolers: Sequence[Pooler]
) -> tuple[dict[str, object], list[Mark]]:
    """Return the charts' data, with the end of the scale that all share, and all marks in order of time."""
    of_all, of_each = marks.of_cluster(cluster, access, window), marks.of_poolers(poolers, access, window)
    charts = {
        str(pooler.pk): {
            "name": pooler.name,
            "rows": [[at, round(value, 4)] for at, value in found[pooler.pk].items()],
            "marks": marks.as_rows([*of_all, *of_each[pooler.pk]]),
        }
        for pooler in poolers
    }
    most = max((value for points in found.values() for value in points.values()), default=0)
    span = {"begins": window.begins * 60, "ends": window.ends * 60, "step": window.step * 60}
    happened = [*of_all, *(mark for some in of_each.values() for mark in some)]
    return {"most": most, "charts": charts, **span}, sorted(happened, key=attrgetter("at"))


def _rows(poolers: Sequence[Pooler], found: Mapping[UUID, Points]) -> list[Row]:
    """Return each step that one of the poolers has, in order of time."""
    times = sorted({at for points in found.values() for at in points})
    return [Row(datetime.fromtimestamp(at, UTC), [found[pooler.pk].get(at) for pooler in poolers]) for at in times]


def _csv(file_name: str, poolers: Sequence[Pooler], rows: Sequence[Row]) -> HttpResponse:
    names = ["from", *(pooler.name for pooler in poolers)]
    written = [dict(zip(names, [timezone.localtime(row.at).isoformat(), *row.values], strict=True)) for row in rows]
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    return HttpResponse(tables.as_csv(written), content_type=CSV, headers=headers)
