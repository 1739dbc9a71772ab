"""The report of an experiment as a file: self-contained HTML, PDF, CSV, JSON."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from django.core.serializers.json import DjangoJSONEncoder
from django.template.loader import render_to_string
from django.utils.translation import get_language

from benchmarks.experiments import results, tables
from benchmarks.experiments.advice import sweep
from benchmarks.experiments.report import advice, presentation
from benchmarks.models import Experiment
from benchmarks.results.export.csv import line
from core.lib import private_text

COLUMNS = ("key", "label", "outcome", "n_valid", "median", "low", "high", "ratio", "verdict", "baseline", "skipped")
CELL_COLUMNS = ("mean_tps", "mean_latency_avg_ms", "is_recommended")  # means over the valid runs


def as_html(experiment: Experiment) -> bytes:
    """Return one page that loads nothing."""
    context = {
        "shown": presentation.show(experiment),
        "conditions": presentation.conditions(experiment),
        "language": get_language(),
    }
    return render_to_string("benchmarks/experiment_report.html", context).encode()


def as_pdf(experiment: Experiment) -> bytes:
    """Return the same page on paper (WeasyPrint), with what every reader may know: it is passed on."""
    from weasyprint import HTML  # half a second and 40 MB that no other page needs

    pdf: bytes = HTML(
        string=private_text.for_others(as_html(experiment).decode()), url_fetcher=_fetch_nothing
    ).write_pdf()
    return pdf


def _fetch_nothing(url: str, *_: object, **__: object) -> NoReturn:
    """Refuse: the page is self-contained, and a server that makes PDFs must not be led to addresses."""
    raise ValueError(f"{url} is not fetched")


def as_csv(experiment: Experiment) -> bytes:
    """Return an arm a line: axis values, measured and published figures, ratio with its interval, verdict.

    An arm of a sweep of sizes is a cell, and has `CELL_COLUMNS` at its end.
    """
    result = results.of(experiment)
    axes, metrics, derived = list(result.spec.axes), list(result.spec.metrics), list(result.spec.derived)
    cells, of_cells = _cells(experiment), CELL_COLUMNS if sweep.expected_clients(experiment) else ()
    names = [*COLUMNS, "interval_low", "interval_high", *axes, *metrics, *derived]
    names += [*(f"published_{name}" for name in metrics), "runs", *of_cells]
    lines = [line(names)]
    for row in tables.arms(result):
        ends: Sequence[float | None] = row["interval"] or (None, None)
        cell: Mapping[str, object] = row
        values = [*(cell[name] for name in COLUMNS), *ends, *(row["values"].get(axis) for axis in axes)]
        values += [row["figures"].get(name) for name in metrics] + [row["derived"].get(name) for name in derived]
        values += [row["published"].get(name) for name in metrics]
        values += [" ".join(str(run["number"]) for run in row["runs"])]
        lines.append(line([*values, *cells.get(row["key"], [None] * len(of_cells))]))
    return "".join(lines).encode()


def _cells(experiment: Experiment) -> dict[str, tuple[Any, ...]]:
    """Return the measured cells of a sweep by the key of their arm, as in its recommendation; none of other reports."""
    recommended = advice.recommendation(experiment)
    if recommended is None:
        return {}
    chosen = (recommended["size"], recommended["clients"])
    cells = {(cell["size"], cell["clients"]): cell for cell in recommended["cells"]}
    return {
        f"{clients}-{size}": (cell["tps"], cell["latency_avg_ms"], "yes" if (size, clients) == chosen else "no")
        for (size, clients), cell in cells.items()
    }


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
