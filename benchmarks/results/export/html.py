"""Export of a run as one self-contained HTML file without scripts."""

import shlex
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.chart_series import planned_seconds
from benchmarks.analysis.downsampling import thinned
from benchmarks.analysis.latency import report
from benchmarks.models import Run, RunOutput, metrics, thresholds
from benchmarks.results import stages
from benchmarks.results.export import observation_charts
from benchmarks.results.export.svg import Line, draw
from benchmarks.runs.observers import summary_text as observer_text
from benchmarks.runs.setup import summary as setup_text

LOG_LINES = 200
DRAWN_AT_MOST = 2_000
LINES = 3
Rows = list[tuple[Any, ...]]


def of(run: Run) -> str:
    """Render the run as an HTML page."""
    summary: Mapping[str, object] = run.summary
    output = RunOutput.objects.filter(run=run).first()
    spread = report.of_run(run)
    context: dict[str, object] = {
        "run": run,
        "tags": run.tags.all(),
        "figures": [(metric, summary[metric.key]) for metric in metrics.METRICS if summary.get(metric.key) is not None],
        "judged": thresholds.judge(run.thresholds, run.summary),
        "drawings": _drawings(run),
        "spread": spread,
        "columns": report.columns(spread) if spread else [],
        "parts": run.parts.order_by("number"),
        "stages": stages.rows_of(run),
        "conditions": setup_text.in_words(run.conditions) + observer_text.in_words(run.conditions.get("meanwhile", {})),
        "server": run.evidence.get("server", {}),
        "pooler": run.evidence.get("pooler"),
        "generator": run.evidence.get("generator"),
        "commands": _commands(run),
        "log": output.stderr.splitlines()[-LOG_LINES:] if output else [],
        "stdout": output.stdout if output else "",
        "style": _style(),
    }
    return render_to_string("benchmarks/run_export.html", context)


def _commands(run: Run) -> list[tuple[str, str]]:
    """Return (label, command line) of the run, or of each part of a distributed run."""
    parts = [
        (_("Command on %(generator)s") % {"generator": part.generator}, shlex.join(part.command))
        for part in run.parts.order_by("number")
    ]
    return parts or [(_("Command"), shlex.join(run.command))]


def _style() -> str:
    """Return the text of the export's style sheet."""
    found = finders.find("css/run_export.css")
    return Path(str(found)).read_text(encoding="utf-8") if found else ""


def drawings_of_load(run: Run) -> list[Any]:
    """Return the charts of a run's throughput and latency."""
    samples: Rows = list(run.samples.order_by("attempt", "seq").values_list("t", *_SAMPLED))
    span = max([float(planned_seconds(run) or 0.0)] + [t for t, *_ in samples[-1:]])
    charts = (
        (_("Throughput"), _("transactions per second"), _lines({"tps": "tps"}, samples, _SAMPLED)),
        (_("Latency"), _("ms"), _lines(_LATENCIES, samples, _SAMPLED)),
    )
    return [one for title, unit, lines in charts if (one := draw(title, unit, lines, span))]


def drawings_of_arms(labeled: Sequence[tuple[str, Run]]) -> list[Any]:
    """Return the chart of throughput with a line for each (label, run), at most `LINES` of them."""
    lines, span = [], 0.0
    for label, run in labeled[:LINES]:
        samples: Rows = list(run.samples.order_by("attempt", "seq").values_list("t", "tps"))
        lines.append(_line(label, samples, 1))
        span = max([span, float(planned_seconds(run) or 0.0)] + [t for t, *_ in samples[-1:]])
    drawn = draw(_("Throughput"), _("transactions per second"), lines, span)
    return [drawn] if drawn else []


def _drawings(run: Run) -> list[Any]:
    samples: Rows = list(run.samples.order_by("attempt", "seq").values_list("t", *_SAMPLED))
    pool: Rows = list(run.pool_samples.order_by("attempt", "seq").values_list("t", *_POOLED))
    last = max([t for t, *_ in samples[-1:]] + [t for t, *_ in pool[-1:]] + [0.0])
    span = max(float(planned_seconds(run) or 0.0), last)
    charts = (
        (_("Throughput"), _("transactions per second"), _lines({"tps": "tps"}, samples, _SAMPLED)),
        (_("Latency"), _("ms"), _lines(_LATENCIES, samples, _SAMPLED)),
        (_("The pool"), _("connections"), _lines(_POOL, pool, _POOLED)),
    )
    drawn = [one for title, unit, lines in charts if (one := draw(title, unit, lines, span))]
    return [*drawn, *observation_charts.drawings(run, span)]


_LATENCIES: dict[str | Promise, str] = {
    gettext_lazy("average"): "latency_ms",
    "p95": "latency_p95_ms",
    "p99": "latency_p99_ms",
}
_POOL: dict[str | Promise, str] = {
    gettext_lazy("clients waiting"): "cl_waiting",
    gettext_lazy("clients active"): "cl_active",
    gettext_lazy("servers active"): "sv_active",
}
_SAMPLED = ("tps", *_LATENCIES.values())
_POOLED = tuple(_POOL.values())


def _lines(names: Mapping[str | Promise, str], rows: Rows, columns: tuple[str, ...]) -> list[Line]:
    """Return a line for each label → column; `rows` are (t, one value per column)."""
    return [_line(label, rows, 1 + columns.index(name)) for label, name in names.items()]


def _line(label: str | Promise, rows: Rows, place: int) -> Line:
    points = [(row[0], row[place]) for row in rows]
    kept = thinned(points, DRAWN_AT_MOST, t=itemgetter(0), value=itemgetter(1))
    return Line(label, [(t, value) for t, value in kept])
