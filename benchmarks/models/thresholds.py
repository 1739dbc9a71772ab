"""Thresholds of a run: limits for its figures, which decide whether it passes; pure.

A threshold is `{"metric": name, "at_least": number}` or `{"metric": name, "at_most": number}`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from django.utils.translation import gettext as _

from benchmarks.models.metrics import AT_LEAST, AT_MOST, THRESHOLDS
from benchmarks.models.summaries import Summary

MOST_THRESHOLDS = 20


class Threshold(TypedDict):
    """A limit for a figure: one of the two."""

    metric: str
    at_least: NotRequired[float]
    at_most: NotRequired[float]


class InvalidThresholds(ValueError):
    """Input that is not a list of thresholds; `errors` holds the reasons."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors))


@dataclass(frozen=True)
class ThresholdResult:
    """One threshold of a run that has ended: the measured value (None: not measured), and whether it passed."""

    metric: str
    bound: str
    limit: float
    value: float | None
    passed: bool

    @property
    def asked(self) -> str:
        """The requirement: `Throughput at least 1,000 tps`."""
        words = {"metric": THRESHOLDS[self.metric].label, "limit": self._quantity(self.limit)}
        if self.bound == AT_LEAST:
            return _("%(metric)s at least %(limit)s") % words
        return _("%(metric)s at most %(limit)s") % words

    @property
    def sentence(self) -> str:
        """The figure beside the requirement: `Throughput 812 tps, at least 1,000 tps`."""
        words = {"metric": THRESHOLDS[self.metric].label, "limit": self._quantity(self.limit)}
        if self.value is None and self.bound == AT_LEAST:
            return _("%(metric)s was not measured, at least %(limit)s") % words
        if self.value is None:
            return _("%(metric)s was not measured, at most %(limit)s") % words
        words |= {"value": self._quantity(self.value)}
        if self.bound == AT_LEAST:
            return _("%(metric)s %(value)s, at least %(limit)s") % words
        return _("%(metric)s %(value)s, at most %(limit)s") % words

    def _quantity(self, value: float) -> str:
        return f"{_in_words(value)} {THRESHOLDS[self.metric].unit}".rstrip()


def read(raw: object) -> list[Threshold]:
    """Return the thresholds that were given, checked; raise `InvalidThresholds` with every fault."""
    if not isinstance(raw, list | tuple) or len(raw) > MOST_THRESHOLDS:
        raise InvalidThresholds([_("give a list of at most %(most)s thresholds") % {"most": MOST_THRESHOLDS}])
    errors = [
        _("threshold %(place)s: %(fault)s") % {"place": place, "fault": fault}
        for place, one in enumerate(raw, 1)
        if (fault := _fault(one))
    ]
    if errors:
        raise InvalidThresholds(errors)
    return [_threshold(one) for one in raw]


def _threshold(one: Threshold) -> Threshold:
    if AT_LEAST in one:
        return {"metric": one["metric"], "at_least": float(one["at_least"])}
    return {"metric": one["metric"], "at_most": float(one["at_most"])}


def judge(thresholds: Sequence[Threshold], summary: Summary) -> list[ThresholdResult]:
    """Compare each threshold with the figures of a run; a figure that was not measured never passes."""
    return [_judged(one, _figure(one["metric"], summary)) for one in thresholds]


def passes(thresholds: Sequence[Threshold], summary: Summary, *, valid: bool) -> bool:
    """Test whether a run passes: its figures are reliable, and meet all thresholds."""
    return valid and all(one.passed for one in judge(thresholds, summary))


def _judged(threshold: Threshold, value: float | None) -> ThresholdResult:
    bound = _bound(threshold)
    limit = threshold[bound]
    passed = value is not None and (value >= limit if bound == AT_LEAST else value <= limit)
    return ThresholdResult(threshold["metric"], bound, limit, value, passed)


def _figure(metric: str, summary: Summary) -> float | None:
    if metric == "failed_percent":
        return _failed_percent(summary)
    figures: Mapping[str, object] = summary
    value = figures.get(metric)
    return float(value) if isinstance(value, int | float) else None


def _failed_percent(summary: Summary) -> float | None:
    """Return the share of failed transactions; 0 where the program counts no failures (pgbench before 15)."""
    done = summary.get("transactions")
    failed = summary.get("failed") or 0
    return 100 * failed / (done + failed) if done else None


def _bound(threshold: Threshold) -> Literal["at_least", "at_most"]:
    return AT_LEAST if AT_LEAST in threshold else AT_MOST


def _in_words(value: float) -> str:
    """Return six significant digits, or more before the decimal point: a million is not 1e+06."""
    return f"{value:,.0f}" if value >= 1e5 else f"{value:,.6g}"


def _fault(one: object) -> str:
    if not isinstance(one, Mapping):
        return _('use {"metric": …, "at_least": …} or {"metric": …, "at_most": …}')
    if one.get("metric") not in THRESHOLDS:
        return _("%(metric)s is not a metric here: choose one of %(thresholds)s") % {
            "metric": repr(one.get("metric")),
            "thresholds": ", ".join(THRESHOLDS),
        }
    bounds = [name for name in (AT_LEAST, AT_MOST) if name in one]
    if len(bounds) != 1 or len(one) != 2:
        return _("%(metric)s takes one of at_least and at_most, and nothing else") % {"metric": one["metric"]}
    limit = one[bounds[0]]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1e15:
        return _("%(limit)s is not a number of %(metric)s: use 0 or more") % {
            "limit": repr(limit),
            "metric": one["metric"],
        }
    return ""
