"""When an experiment with a budget of minutes has measured enough."""

from django.utils import timezone

from benchmarks.analysis.arms import Verdict
from benchmarks.experiments import results
from benchmarks.experiments.results import ArmResult
from benchmarks.models import Experiment

NARROW = 0.10  # an interval from end to end, as a share of the ratio, in which no more measuring is worth while


def is_settled(experiment: Experiment) -> bool:
    """Whether the intervals are narrow enough or the minutes are spent; False where the number of blocks was given.

    Looking after every block costs no error rate: in this mode the intervals are always-valid.
    """
    if experiment.budget is None or experiment.measuring_at is None or experiment.is_still_asked_for:
        return False
    if timezone.now() - experiment.measuring_at >= experiment.budget:
        return True
    found = results.of(experiment)
    return all(_is_known(one) for one in found.arms if one.baseline and one.arm and not one.skipped)


def _is_known(one: ArmResult) -> bool:
    """Whether more runs of this arm would change little: refused, shown to differ, or an interval that is narrow."""
    if one.verdict in (Verdict.REFUSED, Verdict.FASTER, Verdict.SLOWER):
        return True
    interval = one.figure.interval if one.figure else None
    return interval is not None and interval.high - interval.low <= NARROW * interval.ratio
