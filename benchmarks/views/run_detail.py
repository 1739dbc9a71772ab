"""A run's page: its head, charts and log while it goes on, its result afterwards, and the way to stop it."""

import shlex
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from benchmarks.analysis import chart_series, comparison
from benchmarks.analysis.latency import report
from benchmarks.engines import engine
from benchmarks.models import Generator, Purpose, Run, RunOutput, metrics, thresholds
from benchmarks.results import annotations
from benchmarks.runs.observers import login_cost
from benchmarks.runs.observers import summary_text as observer_text
from benchmarks.runs.setup import summary as setup_text
from benchmarks.runs.submission import cancel, queue_status
from benchmarks.targets import datasets
from benchmarks.views import run_charts
from panel.lib.access import staff_only
from pools.poolers import KINDS

LOG_LINES = 500  # shown of the stored output; all of it is one link away
ROWS_WITHOUT_SCRIPT = 120  # of samples, in the table for browsers without JavaScript


@require_safe
def run_detail(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The whole page; htmx asks for the parts that change with the run's state only."""
    run = get_object_or_404(Run.objects.select_related("cluster", "pool", "author", "parent"), pk=pk)
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "benchmarks/run_detail.html#parts", _parts(run))
    course = chart_series.course(run)
    context = _parts(run) | {
        "baseline": annotations.baseline_of(run),
        "tag_line": ", ".join(tag.name for tag in run.tags.all()),
        "course": course | _live_terms(run),
        "charts": run_charts.charts_of(run, course),
        # the room of what the script will draw, so that nothing jumps
        "charts_shown": not run.is_final or bool(course["samples"]["rows"]),
        "waiting_charts": not run.is_final,
        "look_tables": run_charts.tables_of(course),
        "table": chart_series.few(course["samples"], ROWS_WITHOUT_SCRIPT, "tps"),
        "log": _log(run),
    }
    return render(request, "benchmarks/run_detail.html", context)


@require_safe
def run_output(request: HttpRequest, pk: UUID) -> HttpResponse:
    """All that the program printed, as plain text: its progress and messages, then its summary."""
    printed = "".join(_printed(get_object_or_404(Run, pk=pk)))
    return HttpResponse(printed, content_type="text/plain; charset=utf-8")


@require_POST
@staff_only
def run_cancel(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for the run's end; a run that ended by itself meanwhile stays as it is."""
    run = get_object_or_404(Run, pk=pk)
    cancel.cancel(run)
    messages.info(request, f"Run {run.number} {'is stopped' if run.is_final else 'is being stopped'}.")
    return redirect("run-detail", pk=pk)


def _parts(run: Run) -> dict[str, Any]:
    summary = run.summary or chart_series.partial_summary(run)
    spread = report.of_run(run) if run.is_final and run.purpose == Purpose.LOAD else None
    return {
        "run": run,
        "tiles": _tiles(run, summary),
        "waiting": queue_status.waits_for(run),
                "pair": (pair := _pair(run)),
        "pair_query": urlencode([("run", one.pk) for one in pair]),
        "there": urlencode({"cluster": run.cluster_id or "", "database": run.database}),
        "parts": list(run.parts.order_by("number")),
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
    """What each login of a run under -C cost; its host's cores as its generator wrote them down."""
    cores = Generator.objects.filter(name=run.generator).values_list("cores", flat=True).first() or 0
    pooler = run.pool.pooler if run.pool else None
    version = KINDS[pooler.kind].version_of(pooler.server_version) if pooler else ()
    named = pooler.get_kind_display() if pooler else ""
    observations = run.conditions.get("meanwhile", {})
    return login_cost.of_run(run.options, run.summary, observations, cores=cores, pooler=named, version=version)


def _made(run: Run) -> dict[str, Any]:
    """What a preparation makes, and how large, in words."""
    if run.purpose != Purpose.PREPARE:
        return {}
    made = datasets.tables_made(run)
    return {"made": made, "made_size": made.of_size(made.size)}


def _figures(summary: dict[str, Any], spread: report.Spread | None) -> list[tuple[metrics.Metric, Any]]:
    """What the result lists; the percentiles stand with the histogram where there is one."""
    elsewhere = report.FIGURES if spread else frozenset()
    listed = (metric for metric in metrics.METRICS if metric.key not in elsewhere)
    return [(metric, summary[metric.key]) for metric in listed if summary.get(metric.key) is not None]


def _tiles(run: Run, summary: dict[str, Any]) -> dict[str, Any]:
    """The figures of the head: the summary's once the run has ended, the latest sample's before."""
    if run.is_final:
        began, ended = run.started_at, run.finished_at
        time_s = (ended - began).total_seconds() if began and ended else None
        tps, latency_ms = summary.get("tps"), summary.get("latency_avg_ms")
    else:
        time_s, last = queue_status.left_s(run), run.samples.last()
        tps, latency_ms = (last.tps, last.latency_ms) if last else (None, None)
    return {"time_s": time_s, "tps": tps, "latency_ms": latency_ms, "failed": chart_series.failed_so_far(run)}


def _pair(run: Run) -> list[Run]:
    """The runs started together with this one, itself included, in order; empty for a run of its own."""
    return list(Run.objects.filter(group=run.group).order_by("number")) if run.group else []


def _live_terms(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "status": run.status,
        "final": run.is_final,
        "left_s": queue_status.left_s(run),
        "interval": run.options.get("progress") or 1,
    }


def _printed(run: Run) -> tuple[str, str]:
    """The program's messages and its summary; both empty before anything is stored."""
    output = RunOutput.objects.filter(run=run).first()
    return (output.stderr, output.stdout) if output else ("", "")


def _log(run: Run) -> list[str]:
    return [line for stream in _printed(run) for line in stream.splitlines()][-LOG_LINES:]
