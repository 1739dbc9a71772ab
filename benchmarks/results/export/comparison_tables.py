"""Export of a comparison: the API's JSON, a CSV table, and one HTML page; pure."""

import csv
import io
from collections.abc import Sequence
from typing import Any, TypedDict

from django.template.loader import render_to_string

from benchmarks.analysis import arms
from benchmarks.analysis.arms import Arm, Comparison, Figure
from benchmarks.analysis.subjects import Subject

COLUMNS = ("key", "label", "n_valid", "outcome", "median", "low", "high", "ratio", "interval_low", "interval_high")


class ComparedRun(TypedDict):
    """A run of an arm, as the API answers it; `value` is its figure of the compared metric."""

    id: str
    number: int
    outcome: str
    outcome_words: str
    value: Any


class ArmFigures(TypedDict):
    """The figures of an arm beside its baseline."""

    runs: list[ComparedRun]
    n_valid: int
    outcome: str
    outcome_words: str
    median: float | None
    low: float | None
    high: float | None
    ratio: float | None
    interval: list[float] | None
    verdict: str | None
    clients_at_work: float | None
    clients_asked: float | None


class ArmRow(ArmFigures):
    """An arm of a comparison, as the API answers it."""

    key: str
    label: str


class DifferenceRow(TypedDict):
    """A setting in which the arms differ, with its value in each."""

    name: str
    values: list[str]


class ComparisonAnswer(TypedDict):
    """A comparison, as the API answers it; `noise` is a share."""

    metric: str
    baseline: str
    arms: list[ArmRow]
    conclusion: str
    differs_in: list[DifferenceRow]
    noise: float | None


def as_json(found: Comparison) -> ComparisonAnswer:
    """Return the API's answer."""
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
        ends: Sequence[float | None] = arm["interval"] or (None, None)
        flat: dict[str, object] = {**arm, "interval_low": ends[0], "interval_high": ends[1]}
        numbers = " ".join(str(run["number"]) for run in arm["runs"])
        writer.writerow([*(flat[name] for name in COLUMNS), arm["verdict"], numbers])
    return text.getvalue()


def as_html(found: Comparison) -> str:
    """Render the comparison as a self-contained HTML page."""
    return render_to_string("benchmarks/comparison_export.html", {"compared": found, "answer": as_json(found)})


def arm_row(found: Comparison, arm: Arm, figure: Figure) -> ArmRow:
    """Return the API's JSON of an arm."""
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


def _run(found: Comparison, run: Subject) -> ComparedRun:
    return {
        "id": run.id,
        "number": run.number,
        "outcome": run.outcome.value,
        "outcome_words": run.words,
        "value": run.summary.get(found.metric.key),
    }
