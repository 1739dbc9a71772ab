"""A run's page as one file: everything inside it, nothing loaded, no script."""

import shlex
from operator import itemgetter
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from benchmarks.charts.charting import planned_seconds
from benchmarks.charts.thinning import thinned
from benchmarks.conditions import words
from benchmarks.exporting import meanwhile
from benchmarks.exporting.drawing import Line, draw
from benchmarks.judging import comparing, gates
from benchmarks.latencies import showing
from benchmarks.models import PoolSample, Run, RunOutput, Sample

LOG_LINES = 200
DRAWN_AT_MOST = 2_000


def of(run: Run) -> str:
    """The HTML text."""
    summary = run.summary
    output = RunOutput.objects.filter(run=run).first()
    spread = showing.of_run(run)
    context: dict[str, Any] = {
        "run": run,
        "tags": run.tags.all(),
        "figures": [
            (metric, summary[metric.key]) for metric in comparing.METRICS if summary.get(metric.key) is not None
        ],
        "judged": gates.judge(run.thresholds, summary),
        "drawings": _drawings(run),
        "spread": spread,
        "columns": showing.columns(spread) if spread else [],
        "parts": run.parts.order_by("number"),
        "conditions": words.in_words(run.conditions),
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
    """What was started, by where it was where there are several."""
    parts = [(f"Command on {part.generator}", shlex.join(part.command)) for part in run.parts.order_by("number")]
    return parts or [("Command", shlex.join(run.command))]


def _style() -> str:
    """The style sheet of the file, out of the panel's own folder of them."""
    found = finders.find("css/run_export.css")
    return Path(str(found)).read_text(encoding="utf-8") if found else ""


def _drawings(run: Run) -> list[Any]:
    samples = list(run.samples.order_by("attempt", "seq"))
    pool = list(run.pool_samples.order_by("attempt", "seq"))
    last = max([one.t for one in samples[-1:]] + [one.t for one in pool[-1:]] + [0.0])
    span = max(float(planned_seconds(run) or 0.0), last)
    charts = (
        ("Throughput", "transactions per second", [_line("tps", samples, "tps")]),
        ("Latency", "ms", [_line("average", samples, "latency_ms"), *_percentiles(samples)]),
        ("The pool", "connections", [_line(label, pool, name) for label, name in _POOL]),
    )
    drawn = [one for title, unit, lines in charts if (one := draw(title, unit, lines, span))]
    return [*drawn, *meanwhile.drawings(run, span)]


_POOL = (("clients waiting", "cl_waiting"), ("clients active", "cl_active"), ("servers active", "sv_active"))


def _percentiles(samples: list[Sample]) -> list[Line]:
    return [_line(label, samples, f"latency_{label}_ms") for label in ("p95", "p99")]


def _line(label: str, rows: list[Sample] | list[PoolSample], name: str) -> Line:
    points = [(row.t, getattr(row, name)) for row in rows]
    return Line(
        label, [(t, value) for t, value in thinned(points, DRAWN_AT_MOST, t=itemgetter(0), value=itemgetter(1))]
    )
