"""Limits that a job sets for its runs, and why they are missed."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import click

from .records import Arm, Comparison, Limit, Run

RATIO = "ratio"
GATE_FAILED = 1


@dataclass(frozen=True)
class Gate:
    """A limit of a metric: at least, or at most."""

    metric: str
    bound: str
    limit: float

    @classmethod
    def read(cls, text: str, bound: str, default: str) -> "Gate":
        """Read METRIC=NUMBER, or NUMBER alone for the default metric."""
        metric, _, number = text.rpartition("=")
        try:
            return cls(metric or default, bound, float(number))
        except ValueError:
            raise click.UsageError(f"{text!r} is not a limit: use METRIC=NUMBER, such as tps=1000") from None

    @classmethod
    def of(cls, threshold: Limit) -> "Gate":
        """Return the limit of a threshold of the API."""
        if "at_least" in threshold:
            return cls(threshold["metric"], "at_least", threshold["at_least"])
        return cls(threshold["metric"], "at_most", threshold["at_most"])

    def as_threshold(self) -> Limit:
        """Return the limit as a threshold of the API."""
        if self.bound == "at_least":
            return {"metric": self.metric, "at_least": self.limit}
        return {"metric": self.metric, "at_most": self.limit}

    def judge(self, value: float | None) -> str:
        """Return why it is not met; empty where it is."""
        words = f"{self.metric} {self.bound.replace('_', ' ')} {self.limit:g}"
        if value is None:
            return f"{words}: there is no figure, as too few runs are valid"
        met = value >= self.limit if self.bound == "at_least" else value <= self.limit
        return "" if met else f"{words}: it is {value:g}"


def run_faults(runs: Sequence[Run]) -> list[str]:
    """Return why the runs close the gate: those that are not valid, or miss a limit."""
    found = []
    for one in runs:
        if one["validity"] != "valid":
            reasons = "; ".join(one["reasons"]) or one["error"]
            found.append(f"run {one['number']} is {one['validity'] or one['status']}: {reasons}")
        missed = [Gate.of(limit).judge(limit["value"]) for limit in one["thresholds"] if not limit["passed"]]
        found += [f"run {one['number']}: {reason}" for reason in missed]
    return found


def ratio_faults(comparison: Comparison | None, gates: Sequence[Gate], *, is_point: bool) -> list[str]:
    """Return why the pooled arm's ratio to the direct one closes the gate.

    Judged is the end of its interval that has to hold, so that luck passes no gate; with `is_point` the ratio itself.
    """
    judged = [gate for gate in gates if gate.metric == RATIO]
    arms = comparison["arms"] if comparison else []
    arm = next((one for one in arms if one["ratio"] is not None and one["verdict"] is not None), None)
    if is_point or arm is None:
        found = [gate.judge(arm["ratio"] if arm else None) for gate in judged]
    else:
        found = [_interval_fault(gate, arm) for gate in judged]
    return [fault for fault in found if fault]


def _interval_fault(gate: Gate, arm: Arm) -> str:
    """Return why the end of the interval does not meet the limit; empty where it does."""
    if arm["interval"] is None:
        limit = f"{RATIO} {gate.bound.replace('_', ' ')} {gate.limit:g}"
        return f"{limit}: it is {arm['ratio']:g} without an interval: ask for more pairs with --repeat"
    low, high = arm["interval"]
    fault = gate.judge(low if gate.bound == "at_least" else high)
    end = "lower" if gate.bound == "at_least" else "upper"
    return f"{fault}, the {end} end of the 95 % interval of {arm['ratio']:g}" if fault else ""


def leave(faults: Sequence[str]) -> NoReturn:
    """End with what keeps the gate closed."""
    for fault in faults:
        click.echo(f"gate failed: {fault}", err=True)
    sys.exit(GATE_FAILED if faults else 0)
