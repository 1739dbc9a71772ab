"""An experiment's arms as rows: what the API answers and what reports are made of."""

from typing import Any

from benchmarks.analysis.arms import Figure
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.results.export import comparison_tables


def arms(result: Result) -> list[dict[str, Any]]:
    """Return an arm a row: as in a comparison, with its axis values and the published figures."""
    return [_arm(result, one) for one in result.arms]


def _arm(result: Result, one: ArmResult) -> dict[str, Any]:
    if one.arm is None or one.comparison is None:
        measured = EMPTY | {"key": one.spec.key, "label": one.spec.label}
    else:
        figure = one.figures.get(result.spec.metric, Figure(None, None, None))
        measured = comparison_tables.arm_row(one.comparison, one.arm, figure)
    return measured | {
        "values": dict(one.spec.values),
        "baseline": one.baseline or None,
        "published": dict(one.spec.published),
        "figures": {metric: one.value(metric) for metric in result.spec.metrics},
        "derived": dict(one.derived),
        "skipped": one.skipped,
    }


EMPTY: dict[str, Any] = {
    "runs": [],
    "n_valid": 0,
    "outcome": "not ended",
    "outcome_words": "",
    "median": None,
    "low": None,
    "high": None,
    "ratio": None,
    "interval": None,
    "verdict": None,
    "clients_at_work": None,
    "clients_asked": None,
}
