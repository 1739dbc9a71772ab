"""Thresholds of a run: limits for its figures, which decide whether it passes; pure.

A threshold is `{"metric": name, "at_least": number}` or `{"metric": name, "at_most": number}`; with `abort_after_s` the
run ends early once its intervals have missed it for so many seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NotRequired, TypedDict

from django.utils.translation import gettext as _

from benchmarks.models.metrics import AT_LEAST, AT_MOST, THRESHOLDS
from benchmarks.models.summaries import Summary

MOST_THRESHOLDS = 20
ABORT: Final = "abort_after_s"
SHORTEST_ABORT_S, LONGEST_ABORT_S = 1, 24 * 3600


class Threshold(TypedDict):
    """A limit for a figure: one of the two, and the seconds after which missing it ends the run."""

    metric: str
    at_least: NotRequired[float]
    at_most: NotRequired[float]
    abort_after_s: NotRequired[float]


class InvalidThresholds(ValueError):
    """Input that is not a list of thresholds; `errors` holds the reasons."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors))


@dataclass(frozen=True)
class ThresholdResult:
    """One threshold of a run that has ended: the measured value (None: not measured), and whether it passed.

    `abort_after_s` is the time after which missing it ends the run; None where it does not.
    """

    metric: str
    bound: str
    limit: float
    value: float | None
    passed: bool
    abort_after_s: float | None = None

    def as_json(self) -> dict[str, object]:
        """Return the threshold with the value, as API and exports have it."""
        found: dict[str, object] = {"metric": self.metric, self.bound: self.limit}
        if self.abort_after_s is not None:
            found[ABORT] = self.abort_after_s
        return found | {"value": self.value, "passed": self.passed}

    def of_unknown(self, *, passed: bool) -> "ThresholdResult":
        """Return the result for a figure that is unknown."""
        return replace(self, value=None, passed=passed)

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
    checked: Threshold = {"metric": one["metric"]}
    if AT_LEAST in one:
        checked["at_least"] = float(one["at_least"])
    else:
        checked["at_most"] = float(one["at_most"])
    if one.get(ABORT) is not None:
        checked["abort_after_s"] = float(one["abort_after_s"])
    return checked


def judge(thresholds: Sequence[Threshold], summary: Summary) -> list[ThresholdResult]:
    """Compare each threshold with the figures of a run; a figure that was not measured never passes."""
    return [judged(one, _figure(one["metric"], summary)) for one in thresholds]


def passes(thresholds: Sequence[Threshold], summary: Summary, *, valid: bool) -> bool:
    """Test whether a run passes: its figures are reliable, and meet all thresholds."""
    return valid and all(one.passed for one in judge(thresholds, summary))


def judged(threshold: Threshold, value: float | None) -> ThresholdResult:
    """Compare a threshold with a value; None never passes."""
    bound = _bound(threshold)
    limit = threshold[bound]
    passed = value is not None and (value >= limit if bound == AT_LEAST else value <= limit)
    return ThresholdResult(threshold["metric"], bound, limit, value, passed, threshold.get("abort_after_s"))


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
    if len(bounds) != 1 or set(one) - {"metric", *bounds, ABORT}:
        text = _("%(metric)s takes one of at_least and at_most, perhaps abort_after_s, and nothing else")
        return text % {"metric": one["metric"]}
    limit = one[bounds[0]]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit < 1e15:
        return _("%(limit)s is not a number of %(metric)s: use 0 or more") % {
            "limit": repr(limit),
            "metric": one["metric"],
        }
    return _fault_of_abort(one.get(ABORT))


def _fault_of_abort(seconds: object) -> str:
    if seconds is None or _is_within(seconds, SHORTEST_ABORT_S, LONGEST_ABORT_S):
        return ""
    words = {"seconds": repr(seconds), "least": SHORTEST_ABORT_S, "most": LONGEST_ABORT_S}
    return _("%(seconds)s is not a time for abort_after_s: use %(least)s to %(most)s seconds") % words


def _is_within(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
