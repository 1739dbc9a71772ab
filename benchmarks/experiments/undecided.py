"""Why an arm is not judged, and what is done about it, in sentences."""

from collections.abc import Iterator
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.arms import Arm
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.experiments import sequential
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.models import Experiment


def reason(one: ArmResult) -> str:
    """Return why an arm has no interval: `2 of 5 runs valid: others took 43 % of the host`."""
    short = [arm for arm in _both(one) if arm.n_valid < ENOUGH_REPEATS]
    if not short:
        return _("too few blocks for an interval that holds at each look")
    arm = min(short, key=lambda one: one.n_valid)
    values = {"valid": valid_runs(arm), "needed": ENOUGH_REPEATS}
    if arm.is_baseline:
        return _("its baseline has %(valid)s; %(needed)s are needed") % values
    return _("%(valid)s; %(needed)s are needed") % values


def _both(one: ArmResult) -> Iterator[Arm]:
    if one.arm:
        yield one.arm
    if one.comparison and one.comparison.baseline.key != one.spec.key:
        yield one.comparison.baseline


def valid_runs(arm: Arm) -> str:
    """Return a sentence on the number of an arm's valid runs and on the faults of the others."""
    values = {"valid": arm.n_valid, "count": len(arm.runs), "others": "; ".join(_faults(arm))}
    text = (
        _("%(valid)s of %(count)s runs valid: %(others)s")
        if values["others"]
        else _("%(valid)s of %(count)s runs valid")
    )
    return text % values


def _faults(arm: Arm) -> Iterator[str]:
    """Yield each fault that makes runs invalid, once; contention by its median."""
    others = [run for run in arm.runs if not run.counts]
    if contentions := [run.contention for run in others if run.is_only_contended and run.contention is not None]:
        yield _("others took %(share)s %% of the host") % {"share": f"{median(contentions):.0f}"}
    yield from dict.fromkeys(run.words for run in others if not run.is_only_contended)


def next_steps(result: Result) -> Iterator[str]:
    """Yield sentences on how arms get their verdicts: by the experiment itself while it goes on, else by whom."""
    undecided = sequential.undecided(result)
    if not undecided or result.experiment.advice:
        return
    arms = "; ".join(one.spec.label for one in undecided)
    if result.experiment.has_ended:
        yield _after_the_end(result, arms)
        return
    if budget := result.experiment.budget:
        text = _("Still undecided: %(arms)s. Blocks go on until every arm is decided, for at most %(seconds)s s.")
        yield text % {"arms": arms, "seconds": f"{budget.total_seconds():.0f}"}
    elif again := _repeated(result, result.experiment):
        yield ngettext(
            "%(count)s block in which the arms saw unlike contention is measured again by itself.",
            "%(count)s blocks in which the arms saw unlike contention are measured again by themselves.",
            again,
        ) % {"count": again}


def _repeated(result: Result, experiment: Experiment) -> int:
    return min(len(result.spoiled), experiment.repeats) if experiment.has_whole_blocks else 0


def _after_the_end(result: Result, arms: str) -> str:
    more = sequential.blocks_to_decide(result)
    if more is None:
        text = _("Undecided: %(arms)s. More than %(most)s more blocks would be needed, by ratios and spread so far.")
        return text % {"arms": arms, "most": sequential.MOST_BLOCKS_AHEAD}
    text = ngettext(
        "Undecided: %(arms)s. About %(count)s more block would decide, by ratios and spread so far.",
        "Undecided: %(arms)s. About %(count)s more blocks would decide, by ratios and spread so far.",
        more,
    )
    return text % {"arms": arms, "count": more}
