"""The report of an experiment as a file: self-contained HTML, PDF, CSV, JSON."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.template.loader import render_to_string
from django.utils.translation import get_language

from benchmarks.experiments import results, tables
from benchmarks.experiments.report import presentation
from benchmarks.models import Experiment

COLUMNS = ("key", "label", "outcome", "n_valid", "median", "low", "high", "ratio", "verdict", "baseline", "skipped")


def as_html(experiment: Experiment) -> bytes:
    """Return one page that loads nothing."""
    context = {
        "shown": presentation.show(experiment),
        "conditions": presentation.conditions(experiment),
        "language": get_language(),
    }
    return render_to_string("benchmarks/experiment_report.html", context).encode()


def as_pdf(experiment: Experiment) -> bytes:
    """Return the same page on paper (WeasyPrint)."""
    from weasyprint import HTML  # half a second and 40 MB that no other page needs

    made: bytes = HTML(string=as_html(experiment).decode(), url_fetcher=_fetch_nothing).write_pdf()
    return made


def _fetch_nothing(url: str, *_: Any, **__: Any) -> Any:
    """Refuse: the page is self-contained, and a server that makes PDFs must not be led to addresses."""
    raise ValueError(f"{url} is not fetched")


def as_csv(experiment: Experiment) -> bytes:
    """Return an arm a line: axis values, measured and published figures, ratio with its interval, verdict."""
    result = results.of(experiment)
    axes, metrics, derived = list(result.spec.axes), list(result.spec.metrics), list(result.spec.derived)
    text = io.StringIO()
    writer = csv.writer(text)
    names = [*COLUMNS, "interval_low", "interval_high", *axes, *metrics, *derived]
    writer.writerow([*names, *(f"published_{name}" for name in metrics), "runs"])
    for row in tables.arms(result):
        ends = row["interval"] or [None, None]
        cells = [*(row[name] for name in COLUMNS), *ends, *(row["values"].get(axis) for axis in axes)]
        cells += [row["figures"].get(name) for name in metrics] + [row["derived"].get(name) for name in derived]
        cells += [row["published"].get(name) for name in metrics]
        writer.writerow([*cells, " ".join(str(run["number"]) for run in row["runs"])])
    return text.getvalue().encode()


def as_json(experiment: Experiment) -> bytes:
    """Return all of it: the playbook's text, the arms with every run, the conclusion and the conditions."""
    result = results.of(experiment)
    document = {
        "experiment": str(experiment.pk),
        "number": experiment.number,
        "playbook": experiment.playbook,
        "state": experiment.state,
        "quick": experiment.quick,
        "seed": experiment.seed,
        "plan": experiment.plan,
        "started_at": experiment.started_at,
        "finished_at": experiment.finished_at,
        "arms": tables.arms(result),
        "conclusion": presentation.conclusion(result),
        "recommendation": experiment.advice.get("recommendation"),
        "reasons": experiment.reasons,
        "conditions": presentation.conditions(experiment),
        "toml": experiment.definition,
    }
    return json.dumps(document, cls=DjangoJSONEncoder, indent=2, ensure_ascii=False).encode()


MAKERS: dict[str, tuple[str, Callable[[Experiment], bytes]]] = {
    "html": ("text/html; charset=utf-8", as_html),
    "csv": ("text/csv; charset=utf-8", as_csv),
    "json": ("application/json", as_json),
    "pdf": ("application/pdf", as_pdf),
}
