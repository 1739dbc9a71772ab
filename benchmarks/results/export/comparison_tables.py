"""Export of a comparison: the API's JSON, a CSV table, and one HTML page; pure."""

import csv
import io
from typing import Any

from django.template.loader import render_to_string

from benchmarks.analysis import arms
from benchmarks.analysis.arms import Arm, Comparison, Figure
from benchmarks.analysis.subjects import Subject

COLUMNS = ("key", "label", "n_valid", "outcome", "median", "low", "high", "ratio", "interval_low", "interval_high")


def as_json(found: Comparison) -> dict[str, Any]:
    """Return the API's answer: `metric`, `baseline`, `arms`, `conclusion`, `differs_in`, `noise` (a share)."""
    return {
        "metric": found.metric.key,
        "baseline": found.baseline.key,
        "arms": [arm_row(found, arm, figure) for arm, figure in zip(found.arms, found.figures, strict=True)],
        "conclusion": found.conclusion,
        "differs_in": [{"name": one.name, "values": list(one.values)} for one in found.differs_in],
        "noise": found.noise,
    }


def as_csv(found: Comparison) -> str:
    """Format the comparison as CSV, one arm per line."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*COLUMNS, "verdict", "runs"])
    for arm in as_json(found)["arms"]:
        ends = arm["interval"] or [None, None]
        flat = arm | {"interval_low": ends[0], "interval_high": ends[1]}
        numbers = " ".join(str(run["number"]) for run in arm["runs"])
        writer.writerow([*(flat[name] for name in COLUMNS), arm["verdict"], numbers])
    return text.getvalue()


def as_html(found: Comparison) -> str:
    """Render the comparison as a self-contained HTML page."""
    return render_to_string("benchmarks/comparison_export.html", {"compared": found, "answer": as_json(found)})


def arm_row(found: Comparison, arm: Arm, figure: Figure) -> dict[str, Any]:
    """Return what the API answers of an arm."""
    at_work = arm.at_work
    return {
        "key": arm.key,
        "label": arm.label,
        "runs": [_run(found, run) for run in arm.runs],
        "n_valid": arm.n_valid,
        "outcome": arm.outcome.value,
        "outcome_words": arm.words,
        "median": figure.median,
        "low": figure.low,
        "high": figure.high,
        "ratio": figure.ratio,
        "interval": [figure.interval.low, figure.interval.high] if figure.interval else None,
        "verdict": arms.verdict_of(found, arm, figure),
        "clients_at_work": at_work[0] if at_work else None,
        "clients_asked": at_work[1] if at_work else None,
    }


def _run(found: Comparison, run: Subject) -> dict[str, Any]:
    return {
        "id": run.id,
        "number": run.number,
        "outcome": run.outcome.value,
        "outcome_words": run.words,
        "value": run.summary.get(found.metric.key),
    }
