"""An experiment's arms as rows: what the API answers and what reports are made of."""

from collections.abc import Mapping

from benchmarks.analysis.arms import Figure
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.results.export import comparison_tables
from benchmarks.results.export.comparison_tables import ArmFigures, ArmRow


class ExperimentArmRow(ArmRow):
    """An arm as in a comparison, with its axis values and what was published for it."""

    values: dict[str, str]
    baseline: str | None
    published: Mapping[str, float | str]
    figures: dict[str, float | None]
    derived: dict[str, float | None]
    skipped: str


def arms(result: Result) -> list[ExperimentArmRow]:
    """Return an arm a row: as in a comparison, with its axis values and the published figures."""
    return [_arm(result, one) for one in result.arms]


def _arm(result: Result, one: ArmResult) -> ExperimentArmRow:
    return {
        **_measured(result, one),
        "values": dict(one.spec.values),
        "baseline": one.baseline or None,
        "published": dict(one.spec.published),
        "figures": {metric: one.value(metric) for metric in result.spec.metrics},
        "derived": dict(one.derived),
        "skipped": one.skipped,
    }


def _measured(result: Result, one: ArmResult) -> ArmRow:
    if one.arm is None or one.comparison is None:
        return {**EMPTY, "key": one.spec.key, "label": one.spec.label}
    figure = one.figures.get(result.spec.metric, Figure(None, None, None))
    return comparison_tables.arm_row(one.comparison, one.arm, figure)


EMPTY: ArmFigures = {
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
