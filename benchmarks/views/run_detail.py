"""The page of a run: head, charts and log while it is running, result afterwards; and its cancellation."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from benchmarks.analysis import chart_series, comparison
from benchmarks.analysis.chart_series import Detail
from benchmarks.analysis.latency import report
from benchmarks.engines import engine
from benchmarks.models import Generator, Purpose, Run, RunOutput, metrics, thresholds
from benchmarks.models.summaries import Summary
from benchmarks.results import annotations, stages
from benchmarks.runs.observers import login_cost
from benchmarks.runs.observers import summary_text as observer_text
from benchmarks.runs.setup import summary as setup_text
from benchmarks.runs.submission import cancel, queue_status, rate
from benchmarks.targets import datasets
from benchmarks.views import run_charts
from core.accounts.access import Access, find, needs
from core.accounts.permissions import person

LOG_LINES = 500  # shown of the stored output; all of it is one link away
SECONDS = re.compile(r"-?\d{1,9}(\.\d{1,20})?", re.ASCII)
OF_PAGE = Detail(rows=250, observations=80)  # of a run that has ended: about what a chart has room for
OF_ZOOM = Detail(rows=1_500, observations=600)
ROWS_WITHOUT_SCRIPT = 120  # rows of samples in the table for browsers without JavaScript


@require_safe
@needs("run.view")
def run_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Render the page of a run; for htmx only the parts that change with its state."""
    run = find(request, Run.objects.select_related("cluster", "pool", "author", "parent"), pk=pk)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "benchmarks/run_detail.html#parts", _parts(run, Access.of(request)))
    detail = OF_PAGE if run.is_final else None
    course = chart_series.course(run, detail)
    context = _parts(run, Access.of(request)) | {
        "baseline": annotations.baseline_of(run, Access.of(request)),
        "tag_line": ", ".join(tag.name for tag in run.tags.all()),
        "course": {**course, **_live_terms(run), "finer": _finer(run, course, detail)},
        "charts": run_charts.charts_of(run, course),
        # reserves the space of the charts, so that the page does not shift when they are drawn
        "charts_shown": not run.is_final or bool(course["samples"]["rows"]),
        "waiting_charts": not run.is_final,
        "observation_tables": run_charts.tables_of(course),
        "table": chart_series.few(course["samples"], ROWS_WITHOUT_SCRIPT, "tps"),
        "log": _log(run),
    }
    return render(request, "benchmarks/run_detail.html", context)


def _finer(run: Run, course: chart_series.Course, detail: Detail | None) -> str:
    """Return the address of what the page leaves out of the charts; empty where they show all."""
    return reverse("run-course", args=[run.pk]) if detail and chart_series.is_thinned(course, detail) else ""


@require_safe
@needs("run.view")
def run_course(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Answer what the charts show of the seconds `from` to `to` as JSON, in more detail than the page."""
    run = find(request, Run.objects.select_related("pool__pooler"), pk=pk)
    given = (request.GET.get(name, "") for name in ("from", "to"))
    first, last = (float(text) if SECONDS.fullmatch(text) else None for text in given)
    if first is None or last is None:
        return JsonResponse({"detail": _("give the seconds from and to as numbers")}, status=400)
    course = chart_series.course(run, replace(OF_ZOOM, span=(first, last)))
    return JsonResponse({name: course[name] for name in ("samples", "pool", "observations")})


@require_safe
@needs("run.view")
def run_output(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Return the program's complete output as plain text: progress and messages, then its summary."""
    printed = "".join(_printed(find(request, Run.objects.all(), pk=pk)))
    return HttpResponse(printed, content_type="text/plain; charset=utf-8")


def _stops_another_s(request: HttpRequest, pk: UUID) -> str:
    is_own = Run.objects.filter(pk=pk, author=person(request.user)).exists()
    return "" if is_own else _("Stop the run")


@require_POST
@needs("run.cancel", destroys=_stops_another_s)
def run_cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Cancel the run; one that has ended in the meantime stays unchanged."""
    run = find(request, Run.objects.all(), pk=pk)
    cancel.cancel(run)
    text = _("Run %(number)s is stopped.") if run.is_final else _("Run %(number)s is being stopped.")
    messages.info(request, text % {"number": run.number})
    return redirect("run-detail", pk=pk)


def _parts(run: Run, access: Access) -> dict[str, object]:
    summary = run.summary or chart_series.partial_summary(run)
    spread = report.of_run(run) if run.is_final and run.purpose == Purpose.LOAD else None
    return {
        "run": run,
        "can_change_rate": not rate.obstacle(run),
        "tiles": _tiles(run, summary),
        "waiting": queue_status.waits_for(run),
        "pair": (pair := _pair(run, access)),
        "pair_query": urlencode([("run", str(one.pk)) for one in pair]),
        "there": urlencode({"cluster": str(run.cluster_id or ""), "database": run.database}),
        "parts": list(run.parts.order_by("number")),
        "stages": stages.rows_of(run),
        "figures": _figures(summary, spread),
        "at_work": comparison.idle_clients(run.options, summary) if run.is_final else None,
        "is_partial": bool(summary) and not run.summary,
        "is_prepare": run.purpose == Purpose.PREPARE,
        "command": shlex.join(run.command),
        "judged": thresholds.judge(run.thresholds, summary),
        "conditions": setup_text.in_words(run.conditions) + observer_text.in_words(run.conditions.get("meanwhile", {})),
        "words": engine(run.engine).terms,
        "several_scripts": len({statement.get("script") for statement in run.statements}) > 1,
        "login_cost": _login_cost(run) if run.is_final else None,
        **_made(run),
        **({"spread": spread, "columns": report.columns(spread), "marks": report.marks(spread)} if spread else {}),
    }


def _login_cost(run: Run) -> login_cost.LoginCost | None:
    """Return the cost of each login of a run with `-C`, with the number of cores that its generator reported."""
    cores = Generator.objects.filter(name=run.generator).values_list("cores", flat=True).first() or 0
    pooler = run.pool.pooler if run.pool else None
    observations = run.conditions.get("meanwhile", {})
    return login_cost.of_run(run.options, run.summary, observations, cores=cores, pooler=pooler)


def _made(run: Run) -> dict[str, object]:
    """Return the tables that a preparation makes and their size in words; `{}` for other runs."""
    if run.purpose != Purpose.PREPARE:
        return {}
    tables = datasets.tables_made(run)
    return {"made": tables, "made_size": tables.of_size(tables.size)}


def _figures(summary: Mapping[str, object], spread: report.Spread | None) -> list[tuple[metrics.Metric, Any]]:
    """Return the figures of the result; without the percentiles if a histogram shows them."""
    elsewhere = report.FIGURES if spread else frozenset()
    listed = (metric for metric in metrics.METRICS if metric.key not in elsewhere)
    return [(metric, summary[metric.key]) for metric in listed if summary.get(metric.key) is not None]


def _tiles(run: Run, summary: Summary) -> dict[str, object]:
    """Return the figures of the page's head: of the summary once the run has ended, else of the latest sample."""
    if run.is_final:
        began, ended = run.started_at, run.finished_at
        time_s = (ended - began).total_seconds() if began and ended else None
        tps, latency_ms = summary.get("tps"), summary.get("latency_avg_ms")
    else:
        time_s, last = queue_status.left_s(run), run.samples.last()
        tps, latency_ms = (last.tps, last.latency_ms) if last else (None, None)
    return {"time_s": time_s, "tps": tps, "latency_ms": latency_ms, "failed": chart_series.failed_so_far(run)}


def _pair(run: Run, access: Access) -> list[Run]:
    """Return the visible runs of this run's group, itself included, by number; empty if it has no group."""
    return list(access.visible(Run.objects.all()).filter(group=run.group).order_by("number")) if run.group else []


def _live_terms(run: Run) -> dict[str, object]:
    return {
        "id": str(run.pk),
        "status": run.status,
        "final": run.is_final,
        "left_s": queue_status.left_s(run),
        "interval": run.options.get("progress") or 1,
        "staged": bool(run.options.get("stages")),
    }


def _printed(run: Run) -> tuple[str, str]:
    """Return stderr and stdout of the program; both empty before anything is stored."""
    output = RunOutput.objects.filter(run=run).first()
    return (output.stderr, output.stdout) if output else ("", "")


def _log(run: Run) -> list[str]:
    return [line for stream in _printed(run) for line in stream.splitlines()][-LOG_LINES:]
