"""Thresholds of a run: what its figures must reach for scripts to go on; pure.

A threshold is `{"metric": name, "at_least": number}` or `{"metric": name, "at_most": number}`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.models.metrics import AT_LEAST, AT_MOST, THRESHOLDS

MOST_THRESHOLDS = 20


class InvalidThresholds(ValueError):
    """What was given is no list of thresholds; `errors` holds the reasons."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors))


@dataclass(frozen=True)
class Judged:
    """One threshold of a run that has ended: what was measured (None: nothing) and whether that is enough."""

    metric: str
    bound: str
    limit: float
    value: float | None
    passed: bool

    @property
    def asked(self) -> str:
        """What it asks for: `Throughput at least 1,000 tps`."""
        metric = THRESHOLDS[self.metric]
        return f"{metric.label} {self.bound.replace('_', ' ')} {_in_words(self.limit)} {metric.unit}".rstrip()

    @property
    def sentence(self) -> str:
        """It as people read it: `Throughput 812 tps, at least 1,000 tps`."""
        metric = THRESHOLDS[self.metric]
        unit = f" {metric.unit}" if metric.unit else ""
        measured = "was not measured" if self.value is None else f"{_in_words(self.value)}{unit}"
        return f"{metric.label} {measured}, {self.bound.replace('_', ' ')} {_in_words(self.limit)}{unit}"


def read(raw: Any) -> list[dict[str, Any]]:
    """The thresholds that were given, checked; raises `InvalidThresholds` with every fault."""
    if not isinstance(raw, list | tuple) or len(raw) > MOST_THRESHOLDS:
        raise InvalidThresholds([f"give a list of at most {MOST_THRESHOLDS} thresholds"])
    errors = [f"threshold {place}: {fault}" for place, one in enumerate(raw, 1) if (fault := _fault(one))]
    if errors:
        raise InvalidThresholds(errors)
    return [{"metric": one["metric"], _bound(one): float(one[_bound(one)])} for one in raw]


def judge(thresholds: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> list[Judged]:
    """Each threshold against the figures of a run; a figure that was not measured never passes."""
    return [_judged(one, _figure(one["metric"], summary)) for one in thresholds]


def passes(thresholds: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], *, valid: bool) -> bool:
    """Whether a run gets through: its figures may be relied on, and reach all that they must."""
    return valid and all(one.passed for one in judge(thresholds, summary))


def _judged(threshold: Mapping[str, Any], value: float | None) -> Judged:
    bound = _bound(threshold)
    limit = threshold[bound]
    passed = value is not None and (value >= limit if bound == AT_LEAST else value <= limit)
    return Judged(threshold["metric"], bound, limit, value, passed)


def _figure(metric: str, summary: Mapping[str, Any]) -> float | None:
    if metric == "failed_percent":
        return _failed_percent(summary)
    value = summary.get(metric)
    return float(value) if isinstance(value, int | float) else None


def _failed_percent(summary: Mapping[str, Any]) -> float | None:
    """Of all that were tried; none failed where the program does not speak of failures (pgbench before 15)."""
    done = summary.get("transactions")
    failed = summary.get("failed") or 0
    return 100 * failed / (done + failed) if done else None


def _bound(threshold: Mapping[str, Any]) -> str:
    return AT_LEAST if AT_LEAST in threshold else AT_MOST


def _in_words(value: float) -> str:
    """Six digits, more where they stand before the point: a million is no 1e+06."""
    return f"{value:,.0f}" if value >= 1e5 else f"{value:,.6g}"


def _fault(one: Any) -> str:
    if not isinstance(one, Mapping):
        return 'use {"metric": …, "at_least": …} or {"metric": …, "at_most": …}'
    if one.get("metric") not in THRESHOLDS:
        return f"{one.get('metric')!r} is no metric here: use one of {', '.join(THRESHOLDS)}"
    bounds = [name for name in (AT_LEAST, AT_MOST) if name in one]
    if len(bounds) != 1 or len(one) != 2:
        return f"{one['metric']} takes one of at_least and at_most, and nothing else"
    limit = one[bounds[0]]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1e15:
        return f"{limit!r} is not a number of {one['metric']}: use 0 or more"
    return ""
