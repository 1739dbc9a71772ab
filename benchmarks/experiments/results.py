"""What an experiment has measured: its arms with their runs, published figures and verdicts beside their baselines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf
from statistics import mean, median

from django.conf import settings
from django.utils import timezone

from benchmarks.analysis import arms as arm_comparison
from benchmarks.analysis import blocks
from benchmarks.analysis.arms import Arm, Comparison, Figure, Outcome, Verdict
from benchmarks.analysis.confidence_intervals import Rule
from benchmarks.analysis.subjects import Subject, values_of
from benchmarks.experiments import derived, library, order, other_host
from benchmarks.experiments.playbook import ArmSpec, PlaybookSpec
from benchmarks.experiments.start import arms_of
from benchmarks.models import FINAL, Experiment, ExperimentState, Purpose, Run
from benchmarks.results import comparisons


@dataclass(frozen=True)
class ArmResult:
    """An arm: its runs, its figures by metric, and what may be said of it beside its baseline.

    `baseline` is the key of the arm that it is compared with, empty where there is none; `is_baseline` is whether
    others are compared with it. `comparison` is the one it stands in, None before any of its runs; `skipped` says why
    it is not measured.
    """

    spec: ArmSpec
    baseline: str
    arm: Arm | None = None
    comparison: Comparison | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    verdict: Verdict | None = None
    derived: Mapping[str, float | None] = field(default_factory=dict)
    skipped: str = ""
    is_baseline: bool = False

    @property
    def outcome(self) -> Outcome | None:
        """The outcome of the arm; None before its first run has ended."""
        return self.arm.outcome if self.arm else None

    @property
    def figure(self) -> Figure | None:
        """The figure that its verdict rests on."""
        return self.figures.get(self.comparison.metric.key) if self.comparison else None

    def value(self, metric: str) -> float | None:
        """Return the median of a metric over its valid runs, also of one that comparisons leave out."""
        if figure := self.figures.get(metric):
            return figure.median
        known = values_of(self.arm.valid, metric) if self.arm else []
        return median(known) if known else None


@dataclass(frozen=True)
class Progress:
    """The progress of an experiment: runs, and the seconds left (None: not known yet)."""

    done: int
    total: int
    eta_s: float | None


@dataclass(frozen=True)
class Result:
    """An experiment's arms in the order of the playbook."""

    experiment: Experiment
    spec: PlaybookSpec
    arms: tuple[ArmResult, ...]
    runs: tuple[Run, ...]
    rule: Rule
    spoiled: tuple[str, ...] = ()  # blocks that lost runs to contention that not all of their arms saw
    on_same_host: frozenset[str] = frozenset()  # keys of the arms of another host that had none

    def baseline_of(self, one: ArmResult) -> ArmResult | None:
        """Return the arm that this one is compared with; None for a baseline."""
        return next((base for base in self.arms if base.spec.key == one.baseline), None)

    def arm(self, **values: str) -> ArmResult | None:
        """Return the first arm with these axis values."""
        items = values.items()
        return next((one for one in self.arms if items <= one.spec.values.items()), None)


def of(experiment: Experiment) -> Result:
    """Return the results of an experiment so far."""
    spec, specs = library.spec_of(experiment), arms_of(experiment)
    runs = list(experiment.runs.filter(purpose=Purpose.LOAD).select_related("cluster", "pool").order_by("number"))
    same = other_host.on_same_host(runs, specs)
    specs = tuple(other_host.labeled(one) if one.key in same else one for one in specs)
    subjects = _subjects(experiment, runs)
    result = of_arms(experiment, spec, specs, _arms(specs, runs, subjects), runs)
    return replace(result, on_same_host=same)


def of_arms(
    experiment: Experiment, spec: PlaybookSpec, specs: Sequence[ArmSpec], arms: Mapping[str, Arm], runs: Sequence[Run]
) -> Result:
    """Return results from these arms, by key; needs no database."""
    rule = rule_of(experiment, spec, specs)
    judged = [_result(experiment, spec, one, specs, arms, runs, rule) for one in specs]
    bases = {one.baseline for one in judged}
    found = [replace(one, is_baseline=one.spec.key in bases) for one in judged]
    subjects = [run for arm in arms.values() for run in arm.runs]
    spoiled = blocks.contended(subjects) if experiment.has_whole_blocks else []
    return Result(experiment, spec, tuple(found), tuple(runs), rule, tuple(spoiled))


def progress(experiment: Experiment) -> Progress:
    """Return the number of ended runs, the total, and the seconds that the others will take as measured so far.

    Where a budget decides, the plan has more blocks than fit it: those that do are the total, by the runs so far.
    """
    total = sum(key not in experiment.skipped for block in experiment.plan for key in block)
    ended = list(experiment.runs.filter(purpose=Purpose.LOAD, status__in=FINAL))
    if experiment.has_ended:
        is_as_long_as_it_took = experiment.budget is not None and experiment.state == ExperimentState.SUCCEEDED
        return Progress(len(ended), len(ended) if is_as_long_as_it_took else total, 0.0)
    remaining = max(0, total - len(ended))
    if not ended or experiment.measuring_at is None:
        return Progress(len(ended), total, None)
    each = (timezone.now() - experiment.measuring_at).total_seconds() / len(ended)
    times = [(run.finished_at - run.created_at).total_seconds() for run in ended if run.finished_at]
    time_left, mean_s = _time_left(experiment), mean(times) if times else each
    fitting = remaining if time_left == inf else min(remaining, ceil(time_left / max(each, 0.1)))
    return Progress(len(ended), len(ended) + fitting, min(time_left, mean_s * remaining))


def _time_left(experiment: Experiment) -> float:
    """Return the seconds until its budget is spent; endless without one."""
    if experiment.budget is None or experiment.measuring_at is None:
        return inf
    return max(0.0, (experiment.measuring_at + experiment.budget - timezone.now()).total_seconds())


def _subjects(experiment: Experiment, runs: Sequence[Run]) -> list[Subject]:
    """Return the runs as a comparison sees them, each in the group of its block."""
    planned = {
        order.run_id(experiment.pk, order.key_of_run(at, key)): at
        for at, keys in enumerate(experiment.plan)
        for key in keys
    }
    counts: Counter[str] = Counter()
    subjects = []
    for run, subject in zip(runs, comparisons.subjects(runs), strict=True):
        subjects.append(replace(subject, group=f"block {planned.get(run.pk, counts[run.arm])}"))
        counts[run.arm] += 1
    return blocks.judged(subjects) if experiment.has_whole_blocks else subjects


def _arms(specs: Sequence[ArmSpec], runs: Sequence[Run], subjects: Sequence[Subject]) -> dict[str, Arm]:
    """Return the arms that have runs, by key."""
    arms_by_key = {}
    for spec in specs:
        if own := tuple(one for run, one in zip(runs, subjects, strict=True) if run.arm == spec.key):
            arms_by_key[spec.key] = Arm(spec.key, spec.label, own)
    return arms_by_key


def rule_of(experiment: Experiment, playbook: PlaybookSpec, specs: Sequence[ArmSpec]) -> Rule:
    """Return the rule for verdicts: intervals hold simultaneously, and at each look in sequential mode."""
    measured = [one for one in specs if one.key not in experiment.skipped]
    compared = sum(playbook.baseline_of(one, specs) is not None for one in measured)
    return Rule(settings.TIE_BAND_PERCENT / 100, max(1, compared), is_sequential=experiment.is_sequential)


def _result(
    experiment: Experiment,
    playbook: PlaybookSpec,
    spec: ArmSpec,
    specs: Sequence[ArmSpec],
    arms: Mapping[str, Arm],
    runs: Sequence[Run],
    rule: Rule,
) -> ArmResult:
    base = playbook.baseline_of(spec, specs)
    skipped = experiment.skipped.get(spec.key, "")
    arm = arms.get(spec.key)
    if arm is None:
        return ArmResult(spec, base.key if base else "", skipped=skipped)
    pair = [_as_baseline(arms[base.key]), arm] if base and base.key in arms else [_as_baseline(arm)]
    compared = arm_comparison.compare_arms(pair, metric=playbook.metric, rule=rule)
    own = compared.arms[-1]
    figures = {row.metric.key: row.figures[-1] for row in compared.rows}
    figure = figures.get(playbook.metric, Figure(None, None, None))
    return ArmResult(
        spec=spec,
        baseline=base.key if base else "",
        arm=own,
        comparison=compared,
        figures=figures,
        verdict=arm_comparison.verdict_of(compared, own, figure),
        derived=derived.columns(
            playbook.derived, own, figures.get(playbook.metric), [run for run in runs if run.arm == spec.key]
        ),
        skipped=skipped,
    )


def _as_baseline(arm: Arm) -> Arm:
    return Arm(arm.key, arm.label, arm.runs, is_baseline=True)
