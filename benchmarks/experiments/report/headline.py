"""What an experiment found, in one sentence for somebody who reads no tables; pure."""

from math import log

from django.utils.translation import gettext as _

from benchmarks.analysis.arms import Figure, Verdict
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.experiments import sequential
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models import metrics

DECIDED = (Verdict.FASTER, Verdict.SLOWER)
THROUGHPUT = "tps"


def headline(result: Result) -> str:
    """Return the strongest difference that was shown, else what is known instead; empty before anything is measured.

    It rests on the verdicts of the table, so it says nothing that the table does not.
    """
    compared = [one for one in result.arms if one.baseline and one.arm and not one.skipped]
    if not compared:
        return ""
    if carried := next((text for one in compared if (text := _carried(result, one))), ""):
        return carried
    decided = [one for one in compared if one.verdict in DECIDED and one.figure and one.figure.interval]
    if decided:
        strongest = max(decided, key=lambda one: abs(log(_ratio(one))))
        return _difference(result, strongest)
    if refused := next((one for one in compared if one.arm and one.verdict == Verdict.REFUSED), None):
        return _("The server refused clients of “%(arm)s”.") % {"arm": refused.spec.label}
    return _undecided(compared)


def _carried(result: Result, one: ArmResult) -> str:
    """Return that an arm worked where clients of its baseline were refused, which no ratio can say; empty where not."""
    base, tps = result.baseline_of(one), one.value(THROUGHPUT)
    if base is None or base.arm is None or one.arm is None or not base.arm.refusal or not one.arm.n_valid or not tps:
        return ""
    if sequential.known_runs(base.arm, one.arm) < ENOUGH_REPEATS:
        return ""
    text = _("The server refused clients of “%(base)s”; “%(arm)s” served them all, at %(tps)s tps.")
    return text % {"base": base.spec.label, "arm": one.spec.label, "tps": f"{tps:,.0f}"}


def _ratio(one: ArmResult) -> float:
    return one.figure.interval.ratio if one.figure and one.figure.interval else 1.0


def _difference(result: Result, one: ArmResult) -> str:
    """Return a sentence on an arm's figure compared with its baseline's, and its interval."""
    ratio, (low, high) = _ratio(one), _ends(one.figure)
    base = next((arm.spec.label for arm in result.arms if arm.spec.key == one.baseline), one.baseline)
    values = {"arm": one.spec.label, "base": base, "metric": metrics.BY_KEY[result.spec.metric].label}
    if result.spec.metric != THROUGHPUT:
        text = _(
            "%(metric)s of “%(arm)s” is %(ratio)s times that of “%(base)s”: between %(low)s and %(high)s times, with "
            "95 %% confidence."
        )
        return text % (values | {"ratio": _times(ratio), "low": _times(low), "high": _times(high)})
    if ratio < 1:
        text = _(
            "“%(arm)s” did %(percent)s %% less work than “%(base)s” in the same time: between %(low)s %% and %(high)s "
            "%% less, with 95 %% confidence."
        )
        return text % (values | {"percent": _less(ratio), "low": _less(high), "high": _less(low)})
    text = _(
        "“%(arm)s” did %(ratio)s times the work of “%(base)s” in the same time: between %(low)s and %(high)s times, "
        "with 95 %% confidence."
    )
    return text % (values | {"ratio": _times(ratio), "low": _times(low), "high": _times(high)})


def _undecided(compared: list[ArmResult]) -> str:
    """Return a sentence on the differences that remain possible where none was shown."""
    ends = [_ends(one.figure) for one in compared if one.figure and one.figure.interval]
    if not ends:
        return _("Nothing can be said yet: too few runs count.")
    low, high = min(low for low, _high in ends), max(high for _low, high in ends)
    text = _("No difference was shown: the arms did between %(low)s and %(high)s times the work of their baselines.")
    return text % {"low": _times(low), "high": _times(high)}


def _ends(figure: Figure | None) -> tuple[float, float]:
    return (figure.interval.low, figure.interval.high) if figure and figure.interval else (1.0, 1.0)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _less(ratio: float) -> str:
    return f"{(1 - ratio) * 100:.0f}"
