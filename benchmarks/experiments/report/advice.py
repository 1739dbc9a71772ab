"""What the page and the report of an advice show: the answer, the knee chart, and what the sweep could not see."""

from dataclasses import dataclass
from math import sqrt

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.arms import Verdict
from benchmarks.experiments.advice import answers, sweep, through_entry
from benchmarks.experiments.advice.scalability import ScalabilityLaw
from benchmarks.experiments.report import heat_map, knee, pooling
from benchmarks.experiments.report.heat_map import HeatMap
from benchmarks.experiments.report.knee import KneeChart
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models import Experiment
from benchmarks.models.advice import RecommendedSize
from pools.inventory.pools import PoolValues
from pools.models import Pool

RESERVE = "reserve_pool"
MORE_S = 300  # The page offers to add this time to a first answer.
QUESTIONS = {
    sweep.SIZE: gettext_lazy("What size should this pool be?"),
    sweep.MODE: gettext_lazy("Which mode?"),
    sweep.POOLING: gettext_lazy("Direct or pooled?"),
}


@dataclass(frozen=True)
class Advice:
    """An advice as it is shown; `found` is the recommendation of the API, None for other questions than the size.

    `pool` is None once the pool is gone; `sentences` answer the question, the answer first.
    """

    question: str
    title: str
    pool: Pool | None
    found: RecommendedSize | None
    sentences: tuple[str, ...]
    not_seen: tuple[str, ...]
    chart: KneeChart | None
    heat: HeatMap | None
    is_final: bool

    @property
    def can_be_applied(self) -> bool:
        """True if a size was recommended at the end, for a pool that is still there and has another one."""
        return self.is_final and self.found is not None and self.pool is not None and not self.is_as_advised

    @property
    def is_as_advised(self) -> bool:
        """True if the pool has the recommended size and reserve already."""
        if self.found is None or self.pool is None:
            return False
        return values(self.found, self.pool) == {"size": self.pool.size, "settings": dict(self.pool.settings)}


def values(recommended: RecommendedSize, pool: Pool) -> PoolValues:
    """Return the fields of the pool that a recommendation sets; its other settings stay."""
    return {"size": recommended["size"], "settings": {**pool.settings, RESERVE: str(recommended["reserve"])}}


def show(experiment: Experiment, result: Result) -> Advice | None:
    """Return the page's view of an advice so far; None for an experiment without a request for advice."""
    question = experiment.advice.get("question")
    if question is None:
        return None
    recommended = recommendation(experiment)
    return Advice(
        question=question,
        title=str(QUESTIONS[question]),
        pool=pool_of(experiment),
        found=recommended,
        sentences=tuple(_sentences(question, recommended, result)),
        not_seen=tuple(answers.limits(experiment)),
        chart=_chart(experiment, recommended),
        heat=_heat(experiment, recommended),
        is_final=experiment.has_ended and "recommendation" in experiment.advice,
    )


def conclusion(result: Result) -> str:
    """Return the answer to the question by now as one text; empty before there is one."""
    experiment = result.experiment
    return " ".join(_sentences(experiment.advice["question"], recommendation(experiment), result))


def recommendation(experiment: Experiment) -> RecommendedSize | None:
    """Return the recommendation by now; one of before client counts were swept has no cells."""
    stored = experiment.advice.get("recommendation")
    expected = sweep.expected_clients(experiment)
    if stored is None or expected is None:
        return answers.of(experiment)
    old: RecommendedSize = {**stored, "clients": expected, "cells": []}
    return {**old, **stored}


def _sentences(question: str, recommended: RecommendedSize | None, result: Result) -> list[str]:
    """Return the answer first, then what may be doubted in it; nothing before anything is measured."""
    sentences = _size_sentences(recommended) if question == sweep.SIZE else _arm_sentences(question, result)
    if recommended and sweep.is_of_entry(result.experiment):
        sentences = [*sentences, through_entry.remedy(recommended)]
    more = [*pooling.sentences(result), *_five_minutes_more(result)] if question == sweep.POOLING else ()
    return [*sentences, *more, *(_doubts(result) if sentences else ())]


def _five_minutes_more(result: Result) -> list[str]:
    """Return a sentence on how five more minutes would narrow the interval: with the root of the time spent."""
    experiment = result.experiment
    ends = [run.finished_at for run in result.runs if run.finished_at]
    interval = next((one.figure.interval for one in result.arms if one.baseline and one.figure), None)
    if interval is None or experiment.measuring_at is None or not ends:
        return []
    spent_s = max(1.0, (max(ends) - experiment.measuring_at).total_seconds())
    share = sqrt(spent_s / (spent_s + MORE_S))
    low, high = (interval.ratio * (end / interval.ratio) ** share for end in (interval.low, interval.high))
    text = _("Five minutes more would narrow the interval to about ×%(low)s to ×%(high)s.")
    return [text % {"low": f"{low:.2f}", "high": f"{high:.2f}"}]


def pool_of(experiment: Experiment) -> Pool | None:
    """Return the pool that the question was asked for, unless it is gone or being removed."""
    pool_id = experiment.advice.get("pool")
    pools = Pool.objects.wanted().select_related("pooler", "cluster")
    return pools.filter(pk=pool_id).first() if pool_id else None


def _chart(experiment: Experiment, recommended: RecommendedSize | None) -> KneeChart | None:
    if recommended is None:
        return None
    law = ScalabilityLaw(**recommended["law"]) if recommended["law"] else None
    low, high = recommended["interval"]
    return knee.draw(sweep.measured(experiment), law, recommended["size"], (low, high))


def _heat(experiment: Experiment, recommended: RecommendedSize | None) -> HeatMap | None:
    if recommended is None:
        return None
    return heat_map.draw(
        recommended["cells"], sweep.planned_cells(experiment), recommended["clients"], recommended["size"]
    )


def _size_sentences(recommended: RecommendedSize | None) -> list[str]:
    if recommended is None:
        return []
    low, high = recommended["interval"]
    names: dict[str, int | str] = {
        "size": recommended["size"],
        "reserve": recommended["reserve"],
        "low": low,
        "high": high,
    }
    names |= {
        "best": recommended["best"]["size"],
        "tps": f"{recommended['best']['tps']:,.0f}",
        "clients": recommended["clients"],
    }
    largest = max((cell["size"] for cell in recommended["cells"]), default=None)
    if high == largest:
        certainty = _(
            "The 95 %% interval of the size is %(low)s to %(high)s, and ends at the largest size that was tried: "
            "larger ones may do as well or better."
        )
        certainty %= names
    elif low == high:
        certainty = _("Every resampling of the runs gives this size.") % names
    else:
        certainty = _("The 95 %% interval of the size is %(low)s to %(high)s.") % names
    if recommended["best"]["size"] == recommended["size"]:
        best = _("It also has the highest throughput of all measured sizes: %(tps)s tps.") % names
    else:
        best = _("Size %(best)s has the highest mean throughput of the measured sizes: %(tps)s tps.") % names
    answer = ngettext(
        "Use size %(size)s with a reserve of %(reserve)s for %(clients)s client.",
        "Use size %(size)s with a reserve of %(reserve)s for %(clients)s clients.",
        recommended["clients"],
    )
    return [answer % names, certainty, best]


def _doubts(result: Result) -> list[str]:
    """Return sentences on arms without a valid run, except arms whose clients were refused: that is a result."""
    without = [one.spec.label for one in result.arms if one.arm and not one.arm.n_valid and not one.arm.refusal]
    if not without:
        return []
    return [_("No run of these arms is valid, so take the answer as a hint: %(arms)s.") % {"arms": ", ".join(without)}]


def _arm_sentences(question: str, result: Result) -> list[str]:
    """Compare the other arm with the baseline: the mode of the session, or the direct connection."""
    compared = [(one, result.baseline_of(one)) for one in result.arms if one.arm]
    return [_compared(question, one, base) for one, base in compared if base]


def _compared(question: str, one: ArmResult, base: ArmResult) -> str:
    if refused := _refused(one, base):
        return refused
    names = {"arm": one.spec.label, "base": base.spec.label, "ratio": "–", "low": "–", "high": "–"}
    if one.figure and one.figure.ratio:
        names["ratio"] = f"{one.figure.ratio:.2f}"
    if one.figure is None or one.figure.interval is None or one.verdict in (None, Verdict.NOT_ENOUGH):
        return _("There are not enough valid runs to compare “%(arm)s” with “%(base)s”.") % names
    names |= {"low": f"{one.figure.interval.low:.2f}", "high": f"{one.figure.interval.high:.2f}"}
    return {
        Verdict.FASTER: _("“%(arm)s” is faster than “%(base)s”: ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s)."),
        Verdict.SLOWER: _("“%(arm)s” is slower than “%(base)s”: ×%(ratio)s (95 %% interval ×%(low)s to ×%(high)s)."),
    }.get(one.verdict, _alike(question)) % names


def _alike(question: str) -> str:
    """Return the sentence that says that two arms do not differ: of a pool the question is whether it gains."""
    if question == sweep.POOLING:
        return _("No gain shown: “%(arm)s” is ×%(ratio)s of “%(base)s” (95 %% interval ×%(low)s to ×%(high)s).")
    return _("No difference shown: “%(arm)s” is ×%(ratio)s of “%(base)s” (95 %% interval ×%(low)s to ×%(high)s).")


def _refused(one: ArmResult, base: ArmResult) -> str:
    """Tell that the server refused clients of an arm, and what the other carried; empty where it let all in."""
    for arm, other in ((base, one), (one, base)):
        if arm.arm and (refusal := arm.arm.refusal):
            tps = other.value("tps")
            names = {
                "arm": arm.spec.label,
                "words": refusal.refusal_sentence,
                "other": other.spec.label,
                "tps": f"{tps or 0:,.0f}",
            }
            if tps:
                return _("“%(arm)s”: %(words)s. “%(other)s” carried the load at %(tps)s tps.") % names
            return _("“%(arm)s”: %(words)s.") % names
    return ""
