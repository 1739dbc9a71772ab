"""Monitoring pages of pools, poolers and entries: live, and over any window of time with what happened in it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from core.accounts.access import Access, find, needs
from pools.models import Entry, Event, Pool, Pooler
from pools.monitoring import history, marks, recorder, rollup
from pools.monitoring.history import History, Point
from pools.monitoring.marks import Mark
from pools.monitoring.rates import FIGURES, Reading
from pools.monitoring.sampler import ConsoleSnapshot
from pools.monitoring.windows import Window
from pools.poolers import driver
from pools.views import chart_window, charts
from pools.views.chart_window import EARLIER, LIVE, Choice
from pools.views.charts import Chart
from pools.views.live import snapshot_of

EVENTS_SHOWN = 10
OVERVIEW_CHARTS = 2
MARKED_S = 300  # of marks that the stream brings to the charts of an overview: as long as those are
BEFORE = {"day": _("the day before"), "week": _("the week before")}
NOT_RECORDED = {
    "day": _("Nothing was recorded in the same hours of the day before."),
    "week": _("Nothing was recorded in the same hours of the week before."),
}
NOT_KEPT = {
    "day": _("The same hours of the day before are no longer kept: POOLDECK_HISTORY_DAYS says for how long."),
    "week": _("The same hours of the week before are no longer kept: POOLDECK_HISTORY_DAYS says for how long."),
}
Samples = list[tuple[float, Reading]]


@dataclass(frozen=True)
class Subject:
    """What a page of charts is about: a pool or an entry by its name on a pooler, or without a name all of them."""

    pooler: Pooler
    name: str | None
    history: Callable[[Window], History]
    marks: Callable[[Access, Window], list[Mark]]

    @property
    def label(self) -> str:
        return self.name or self.pooler.name


@dataclass(frozen=True)
class Earlier:
    """An earlier window beside the one that is shown; `missing` says why there is nothing of it."""

    name: str
    label: str | Promise
    points: Sequence[Point]
    later_s: int  # how much later the window that is shown begins
    missing: str | Promise


@require_safe
@needs("pool.view")
def pool_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of one pool, live or over the chosen window."""
    pool = find(request, Pool.objects.select_related("pooler", "cluster"), pk=pk)
    subject = Subject(pool.pooler, pool.name, partial(history.of_pool, pool), partial(marks.of_pool, pool))
    context = {"pool": pool, "source": reverse("api-pool-live", args=[pk]), "events": events_of(pool.pk)}
    return page(request, subject, "pools/pool_monitoring.html", context)


@require_safe
@needs("pooler.view")
def pooler_monitoring(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show the figures of all pools of a pooler together, live or over the chosen window."""
    pooler = find(request, Pooler.objects.all(), pk=pk)
    subject = Subject(pooler, None, partial(history.of_pooler, pooler), partial(marks.of_pooler, pooler))
    context = {"pooler": pooler, "source": reverse("api-pooler-live", args=[pk]), "events": events_of(pooler.pk)}
    return page(request, subject, "pools/pooler_monitoring.html", context)


def page(request: HttpRequest, subject: Subject, template: str, context: dict[str, object]) -> HttpResponse:
    """Render the charts of a subject in the zone that the address names, or the figures of one of them as CSV.

    A window that can't be read answers with 422, its errors and the last hour.
    """
    with timezone.override(chart_window.zone_of(request)):
        choice = chart_window.choice(request)
        samples = _samples(subject.pooler, subject.name) if choice.is_live else []
        points = _points(samples) if choice.is_live else subject.history(choice.window).points
        if request.GET.get("as") == "csv":
            return charts.as_csv(subject.label, request.GET.get("chart", ""), points)
        context["marks_since"] = f"{time.time():.3f}"
        happened = subject.marks(Access.of(request), choice.window)
        context |= _live(subject, samples) if choice.is_live else _recorded(subject, choice, points)
        context |= {"choice": choice, "chosen": choice.name, "marks": happened, "marked": marks.as_rows(happened)}
        context["mark_kinds"] = marks.kinds_of(happened, is_live=choice.is_live)
        context["tables"] = [charts.table_of(chart, points) for chart in charts.charts_of(subject.pooler)]
        return render(request, template, context, status=422 if choice.form.errors else 200)


def _live(subject: Subject, samples: Samples) -> dict[str, object]:
    snapshot = snapshot_of(subject.pooler)
    reading = snapshot.whole() if subject.name is None else snapshot.reading(subject.name)
    context = {"course": _live_course(samples), "look_error": snapshot.error}
    return context | figures_of(subject.pooler, snapshot, reading)


def _recorded(subject: Subject, choice: Choice, points: Sequence[Point]) -> dict[str, object]:
    drawn = charts.charts_of(subject.pooler)
    earlier = [_earlier(subject, choice, name) for name in choice.compared]
    context = {"course": course(choice, points, drawn, earlier), "earlier": earlier, "look_error": ""}
    return context | figures_of(subject.pooler, ConsoleSnapshot(), ConsoleSnapshot().whole())


def _earlier(subject: Subject, choice: Choice, name: str) -> Earlier:
    window = choice.window.days_before(EARLIER[name], choice.zone)
    points = subject.history(window).points
    missing: str | Promise = ""
    if not points:
        is_kept = window.until.timestamp() > time.time() - settings.HISTORY_DAYS * 86400
        missing = NOT_RECORDED[name] if is_kept else NOT_KEPT[name]
    return Earlier(name, BEFORE[name], points, (choice.window.begins - window.begins) * 60, missing)


def live_part(subject: Pool | Pooler | Entry) -> dict[str, object]:
    """Return the context of the live charts with their tables, and of the events, on the page of a subject."""
    noun = type(subject).__name__.lower()
    pooler, name = (subject, None) if isinstance(subject, Pooler) else (subject.pooler, subject.name)
    samples = _samples(pooler, name)
    points = _points(samples)
    shown = charts.charts_of(pooler)[:OVERVIEW_CHARTS]
    return {
        "course": _live_course(samples),
        "chosen": LIVE,
        "marks_since": f"{time.time() - MARKED_S:.3f}",
        "tables": [charts.table_of(chart, points) for chart in shown],
        "source": reverse(f"api-{noun}-live", args=[subject.pk]),
        "charts_page": reverse(f"{noun}-monitoring", args=[subject.pk]),
        "events": events_of(subject.pk),
        **counting(pooler),
    }


def figures_of(pooler: Pooler, snapshot: ConsoleSnapshot, reading: Reading) -> dict[str, object]:
    """Return the tiles of the figures that this kind of pooler counts; their values are None after a console error."""
    listed = charts.tiles_of(pooler)
    tiles = [{"tile": tile, "value": None if snapshot.error else reading[tile.name]} for tile in listed]
    return {"tiles": tiles, **counting(pooler)}


def counting(pooler: Pooler) -> dict[str, object]:
    """Return the figures that this kind does not count, and the source of its connection figures."""
    kind = driver(pooler)
    return {"uncounted": kind.uncounted, "connections_source": kind.connections_source}


def course(
    choice: Choice, points: Sequence[Point], drawn: Sequence[Chart], earlier: Sequence[Earlier]
) -> dict[str, object]:
    """Return the charts' data of a window: time, averages and maxima per step; missing steps are left out.

    Earlier windows have the averages of the figures that are compared, at the times of the window that is shown.
    """
    window = choice.window
    columns = ["t", *FIGURES, *(f"{name}_max" for name in FIGURES)]
    rows = [[point.at, *_rounded(point.average), *_rounded(point.maximum)] for point in points]
    span = {"begins": window.begins * 60, "ends": window.ends * 60, "step": window.step * 60}
    figures = [name for chart in drawn for name in chart.compared]
    compared = [
        {
            "name": one.name,
            "label": str(one.label),
            "columns": ["t", *figures],
            "rows": [[point.at + one.later_s, *_rounded(point.average, figures)] for point in one.points],
        }
        for one in earlier
        if one.points
    ]
    named = {"range": choice.name or "window", "zone": str(choice.zone), "compared": compared}
    return {"columns": columns, "rows": rows, **named, **span}


def _live_course(samples: Samples) -> dict[str, object]:
    """Return the charts' data of the recorder's samples of the last minutes; live figures are appended to them."""
    rows = [[at, *_rounded(reading)] for at, reading in samples]
    zone = timezone.get_current_timezone_name()
    return {"range": LIVE, "columns": ["t", *FIGURES], "rows": rows, "zone": zone, "step": recorder.EVERY_S}


def _points(samples: Samples) -> list[Point]:
    """Return samples as points of steps that have no maxima."""
    return [Point(int(at), 1, reading, {}) for at, reading in samples]


def _samples(pooler: Pooler, name: str | None) -> Samples:
    return rollup.time_series(recorder.recent(pooler.pk), name)


def events_of(subject: UUID) -> list[Event]:
    """Return the latest events of a pool, pooler (with its pools) or cluster, open ones first."""
    reportable = Event.objects.reportable()
    about_subject = reportable.filter(subject_id=subject) | reportable.filter(pooler_id=subject)
    return [
        *about_subject.filter(closed_at=None)[:EVENTS_SHOWN],
        *about_subject.exclude(closed_at=None)[:EVENTS_SHOWN],
    ][:EVENTS_SHOWN]


def _rounded(figures: dict[str, float | None], names: Sequence[str] = FIGURES) -> list[float | None]:
    """Round to four decimals, more than a chart can show."""
    return [None if (value := figures[name]) is None else round(value, 4) for name in names]
