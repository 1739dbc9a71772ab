"""When an experiment has measured enough, which blocks it measures again, and how many more would decide."""

from django.utils import timezone

from benchmarks.analysis import arms as arm_comparison
from benchmarks.analysis import confidence_intervals
from benchmarks.analysis.arms import Arm, Verdict
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from benchmarks.experiments import order, results
from benchmarks.experiments.results import ArmResult, Result
from benchmarks.experiments.start import arms_of
from benchmarks.models import Experiment

NEGLIGIBLE = 0.10  # a difference that is not worth while: an interval that excludes a larger one says as much
MOST_BLOCKS_AHEAD = 50  # farther ahead than that, spread and ratio so far say little


def is_settled(experiment: Experiment) -> bool:
    """Return whether all arms are judged or the time is spent; False where the number of blocks was given.

    Looking after every block costs no error rate: in this mode the intervals are always-valid.
    """
    if experiment.budget is None or experiment.measuring_at is None or experiment.is_still_asked_for:
        return False
    elapsed = timezone.now() - experiment.measuring_at
    blocks = experiment.step / len(experiment.plan[0])
    if blocks < ENOUGH_REPEATS:  # Fewer blocks support no statement.
        return False
    is_late = elapsed + elapsed / blocks > experiment.budget  # the next block would end after the time
    return is_late or not undecided(results.of(experiment))


def undecided(result: Result) -> list[ArmResult]:
    """Return the arms on which more blocks may still give a verdict."""
    return [one for one in result.arms if one.baseline and not one.skipped and not _is_decided(result, one)]


def _is_decided(result: Result, one: ArmResult) -> bool:
    """Return whether more runs of this arm would change little.

    It is refused, or carried its clients beside a refused baseline, shown to differ, or its interval excludes a
    difference that is worth while.
    """
    base = result.baseline_of(one)
    if one.arm is None or base is None or base.arm is None:
        return False
    if one.verdict == Verdict.REFUSED or base.arm.refusal:
        return known_runs(one.arm, base.arm) >= ENOUGH_REPEATS
    if one.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return True
    interval = one.figure.interval if one.figure else None
    return interval is not None and interval.low >= 1 / (1 + NEGLIGIBLE) and interval.high <= 1 + NEGLIGIBLE


def known_runs(*arms: Arm) -> int:
    """Count the runs that ended with a result, figures that count or a refusal, of the arm that has the fewest."""
    return min(sum(run.counts or run.refusal is not None for run in arm.runs) for arm in arms)


def blocks_to_decide(result: Result) -> int | None:
    """Return the number of blocks until every arm has a verdict, if ratios and spread stay as they are.

    0 where nothing is undecided; None where more than `MOST_BLOCKS_AHEAD` would be needed. Who asks for more has seen
    the figures, so that always-valid intervals count.
    """
    blocks = [_more_blocks(result, one) for one in undecided(result)]
    known = [count for count in blocks if count is not None]
    return max(known, default=0) if len(known) == len(blocks) else None


def _more_blocks(result: Result, one: ArmResult) -> int | None:
    base = result.baseline_of(one)
    if one.arm is None or base is None or base.arm is None:
        return ENOUGH_REPEATS
    if one.verdict == Verdict.REFUSED or base.arm.refusal:
        return ENOUGH_REPEATS - known_runs(one.arm, base.arm)
    pairs = arm_comparison.pairs_of(result.spec.metric, base.arm, one.arm)
    if len(pairs) < ENOUGH_REPEATS - 1:  # too few to tell how they spread
        return ENOUGH_REPEATS - len(pairs)
    most = len(pairs) + MOST_BLOCKS_AHEAD
    needed = confidence_intervals.pairs_needed(pairs, result.rule.as_sequential, NEGLIGIBLE, most)
    return None if needed is None else needed - len(pairs)


def repeat_contended(experiment: Experiment) -> bool:
    """Plan another block for each that contention spoiled; False where none is left to repeat.

    Where a number of blocks was given, at most as many are measured again; a budget of time has its end by itself.
    """
    if experiment.budget is not None or not experiment.has_whole_blocks:
        return False
    repeated = len(experiment.plan) - experiment.repeats
    spoiled = len(results.of(experiment).spoiled)
    more = min(spoiled, experiment.repeats) - repeated
    if more <= 0:
        return False
    arms = [one.key for one in arms_of(experiment)]
    experiment.write(plan=order.longer(experiment.plan, arms, len(experiment.plan) + more, experiment.seed))
    return True
