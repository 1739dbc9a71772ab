"""Runs compared: repeats of one configuration are one arm, and verdicts rest on arms with repeats only; pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import Any

from benchmarks.analysis import comparison, confidence_intervals
from benchmarks.analysis.comparison import Difference
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS, Interval
from benchmarks.analysis.connection_refusals import Refusal
from benchmarks.models import metrics
from benchmarks.models.metrics import Direction, Metric


class Outcome(StrEnum):
    """What became of a run, or of an arm."""

    SUCCEEDED = "succeeded"
    SUSPECT = "suspect"
    REFUSED = "refused"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_ENDED = "not ended"


class Verdict(StrEnum):
    """What may be said of an arm beside the baseline's."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference shown"
    REFUSED = "refused"
    NOT_ENOUGH = "not enough data"


@dataclass(frozen=True)
class Subject:
    """A run as a comparison sees it; `group` ties runs that were started together, in the order of their numbers."""

    id: str
    number: int
    endpoint_kind: str
    target: str
    engine: str
    options: Mapping[str, Any]
    summary: Mapping[str, Any]
    outcome: Outcome
    reasons: tuple[str, ...] = ()
    refusal: Refusal | None = None
    server_version: str = ""
    group: str = ""
    called: str = ""  # its way where more is known of it: pooled by Odyssey

    @property
    def counts(self) -> bool:
        """Whether its figures may be compared."""
        return self.outcome is Outcome.SUCCEEDED

    @property
    def refused_by(self) -> str:
        """Who lets the clients of this run in."""
        return "the pool" if self.endpoint_kind == "pooled" else "the server"

    @property
    def words(self) -> str:
        """Its outcome with the reasons."""
        why = self.refusal.sentence(self.refused_by) if self.refusal else "; ".join(self.reasons)
        return f"{self.outcome}: {why}" if why else str(self.outcome)

    @property
    def at_work(self) -> tuple[float, float] | None:
        """(at work, asked) where fewer or more clients were at work than asked for."""
        return comparison.idle_clients(self.options, self.summary)

    @property
    def settings(self) -> dict[str, Any]:
        """What makes its configuration, in words."""
        return comparison.settings_in_words(self.options, self.engine, self.server_version)


@dataclass(frozen=True)
class Figure:
    """One metric of an arm, over its valid runs; `interval` is the ratio to the baseline's, `verdict` None: unjudged.

    `missing` says what a verdict lacks.
    """

    median: float | None
    low: float | None
    high: float | None
    ratio: float | None = None
    interval: Interval | None = None
    verdict: Verdict | None = None
    missing: str = ""

    @property
    def tone(self) -> str:
        """The colour of a verdict; `none` where there is none to colour."""
        return {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}.get(self.verdict or Verdict.NOT_ENOUGH, "none")


@dataclass(frozen=True)
class Arm:
    """The runs of one configuration."""

    key: str
    label: str
    runs: tuple[Subject, ...]
    is_baseline: bool = False

    @property
    def valid(self) -> tuple[Subject, ...]:
        """The runs whose figures count."""
        return tuple(run for run in self.runs if run.counts)

    @property
    def n_valid(self) -> int:
        """How many they are."""
        return len(self.valid)

    @property
    def outcome(self) -> Outcome:
        """Succeeded as soon as one run did; refused where none did and one was refused."""
        found = [run.outcome for run in self.runs]
        return next((one for one in (Outcome.SUCCEEDED, Outcome.REFUSED) if one in found), found[0])

    @property
    def words(self) -> str:
        """Its outcome: how many runs count, and what became of the others."""
        others = dict.fromkeys(run.words for run in self.runs if not run.counts)
        return "; ".join([f"{self.n_valid} of {len(self.runs)} valid", *others])

    @property
    def refusal(self) -> Subject | None:
        """The run that tells most of a refusal; None where the arm has figures or was not refused."""
        refused = [run for run in self.runs if run.refusal]
        return refused[0] if refused and not self.n_valid else None

    @property
    def at_work(self) -> tuple[float, float] | None:
        """(at work, asked) by the median of its runs, where that is not what was asked for."""
        busy = _values(self.valid, "effective_clients")
        summary = {"effective_clients": median(busy)} if busy else {}
        return comparison.idle_clients(self.runs[0].options, summary)


@dataclass(frozen=True)
class Row:
    """One metric over all arms."""

    metric: Metric
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Comparison:
    """What page and API show; the first arm is the baseline."""

    metric: Metric
    arms: tuple[Arm, ...]
    rows: tuple[Row, ...]
    differs_in: tuple[Difference, ...]
    noise: float | None  # a standard deviation of repeats, as a share
    conclusions: tuple[str, ...]

    @property
    def baseline(self) -> Arm:
        """What the others are measured by."""
        return self.arms[0]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Those of the chosen metric, an arm each."""
        empty = tuple(Figure(None, None, None) for _ in self.arms)
        return next((row.figures for row in self.rows if row.metric == self.metric), empty)

    @property
    def conclusion(self) -> str:
        """All that may be said, in one text."""
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in self.conclusions)

    @property
    def noise_words(self) -> str:
        """How repeats vary here, or that nobody knows yet."""
        if self.noise is None:
            return "How much runs vary here is not known yet: repeat one configuration to see."
        return f"Repeats of one configuration vary by ±{self.noise:.1%} here (standard deviation)."


def compare(subjects: Sequence[Subject], *, baseline: str = "", metric: str = "tps") -> Comparison:
    """The runs as arms; `baseline` is an arm's key (the first run's arm where left out).

    Raises `KeyError` for a key or metric that is none here.
    """
    return compare_arms(_arms(subjects, baseline), metric=metric)


def compare_arms(arms: Sequence[Arm], *, metric: str = "tps") -> Comparison:
    """Compare arms that are made already, the first of them the baseline; raises `KeyError` for an unknown metric."""
    judged, arms = metrics.BY_KEY[metric], tuple(arms)
    subjects = [run for arm in arms for run in arm.runs]
    shown = [one for one in metrics.METRICS if any(run.summary.get(one.key) is not None for run in subjects)]
    rows = tuple(Row(one, tuple(_figure(one, arms[0], arm) for arm in arms)) for one in shown)
    noise = confidence_intervals.repeatability([_values(arm.valid, metric) for arm in arms])
    found = Comparison(judged, arms, rows, _differs_in(arms), noise, ())
    sentences = tuple(_conclusion(found, arm, figure) for arm, figure in zip(arms, found.figures, strict=True))
    return Comparison(judged, arms, rows, found.differs_in, noise, tuple(one for one in sentences if one))


def key_of(run: Subject) -> str:
    """Names a configuration: the way of the load and a digest of target, program and options but the seed."""
    options = {name: value for name, value in run.options.items() if name not in comparison.SEEDS}
    made_of = json.dumps([run.endpoint_kind, run.target, run.engine, options], sort_keys=True, default=str)
    return f"{run.endpoint_kind}-{hashlib.sha256(made_of.encode()).hexdigest()[:8]}"


def _arms(subjects: Sequence[Subject], baseline: str) -> tuple[Arm, ...]:
    sets: dict[str, list[Subject]] = {}
    for run in subjects:
        sets.setdefault(key_of(run), []).append(run)
    first = baseline or next(iter(sets))
    order = [first, *(key for key in sets if key != first)]
    kept = [tuple(sorted(sets[key], key=lambda run: run.number)) for key in order]
    labels = _labels([runs[0] for runs in kept])
    found = zip(order, labels, kept, strict=True)
    return tuple(Arm(key, label, runs, at == 0) for at, (key, label, runs) in enumerate(found))


def _labels(firsts: Sequence[Subject]) -> list[str]:
    """Each arm's way, with the target and the options by which it differs where the way alone does not tell."""
    labels = [run.called or run.endpoint_kind for run in firsts]
    if len(set(labels)) == len(labels):
        return labels
    if len({run.target for run in firsts}) > 1:
        labels = [f"{run.called or run.endpoint_kind} {run.target}" for run in firsts]
    differing = comparison.differences([run.settings for run in firsts])[:4]
    parts = [", ".join(f"{one.name} {one.values[at]}" for one in differing) for at in range(len(firsts))]
    return [f"{label}, {part}" if part else label for label, part in zip(labels, parts, strict=True)]


def _differs_in(arms: Sequence[Arm]) -> tuple[Difference, ...]:
    described = []
    for arm in arms:
        versions = ", ".join(dict.fromkeys(run.server_version for run in arm.runs if run.server_version))
        described.append(arm.runs[0].settings | {"server version": versions})
    return comparison.differences(described)


def _values(runs: Sequence[Subject], key: str) -> list[float]:
    return [value for run in runs if isinstance(value := run.summary.get(key), int | float)]


def _figure(metric: Metric, base: Arm, arm: Arm) -> Figure:
    values = _values(arm.valid, metric.key) or _values(arm.runs, metric.key)
    if not values:
        return Figure(None, None, None)
    seen = Figure(median(values), min(values), max(values))
    theirs = _values(base.valid, metric.key)
    if arm.is_baseline or not arm.n_valid or not theirs:
        return seen
    if not metric.is_judged:
        return replace(seen, ratio=_ratio(median(values), median(theirs)))
    if missing := _missing(metric, (base, arm)):
        ratio = _ratio(median(values), median(theirs))
        return replace(seen, ratio=ratio, verdict=Verdict.NOT_ENOUGH, missing=missing)
    interval = _interval(metric, base, arm)
    ratio = interval.ratio if interval else None
    return replace(seen, ratio=ratio, interval=interval, verdict=_verdict(metric, interval))


def _ratio(value: float, base: float) -> float | None:
    return value / base if base else None


def _missing(metric: Metric, arms: Sequence[Arm]) -> str:
    """What a verdict lacks, in words; empty where it has all."""
    unsupported = []
    for arm in arms:
        more = ENOUGH_REPEATS - len(_values(arm.valid, metric.key))
        if more > 0:
            unsupported.append(f"{more} more valid run{'s' if more > 1 else ''} of {arm.label}")
        logged = sum(_values(arm.valid, "latency_samples"))
        if metric.samples_needed > logged:
            unsupported.append(f"{metric.samples_needed:,} logged transactions of {arm.label} (it has {logged:,.0f})")
    return " and ".join(unsupported)


def _interval(metric: Metric, base: Arm, arm: Arm) -> Interval | None:
    pairs = _pairs(base, arm)
    if pairs is None:
        return confidence_intervals.of_samples(_values(base.valid, metric.key), _values(arm.valid, metric.key))
    values = [(one.summary.get(metric.key), other.summary.get(metric.key)) for one, other in pairs]
    return confidence_intervals.of_pairs(
        [(one, other) for one, other in values if one is not None and other is not None]
    )


def _pairs(base: Arm, arm: Arm) -> list[tuple[Subject, Subject]] | None:
    """Neighbours of one group, each of both valid; None unless all runs are such and enough of them are left."""
    found: list[tuple[Subject, Subject]] = []
    for group in {run.group for run in (*base.runs, *arm.runs)}:
        ours = [[run for run in one.runs if run.group == group] for one in (base, arm)]
        if not group or len(ours[0]) != len(ours[1]):
            return None
        found += zip(*ours, strict=True)
    valid = [pair for pair in found if pair[0].counts and pair[1].counts]
    return valid if len(valid) >= ENOUGH_REPEATS else None


def _verdict(metric: Metric, interval: Interval | None) -> Verdict | None:
    if interval is None:
        return None
    if not interval.shows_difference:
        return Verdict.NO_DIFFERENCE
    return Verdict.FASTER if (interval.ratio > 1) == (metric.direction is Direction.UP) else Verdict.SLOWER


def verdict_of(found: Comparison, arm: Arm, figure: Figure) -> Verdict | None:
    """The word for an arm: of its figure, or that it was refused; None of a baseline, or beside a refused one."""
    if arm.refusal:
        return Verdict.REFUSED
    if arm.is_baseline or (found.baseline.refusal and arm.n_valid):
        return None
    return figure.verdict or (None if arm.n_valid and found.baseline.n_valid else Verdict.NOT_ENOUGH)


def _conclusion(found: Comparison, arm: Arm, figure: Figure) -> str:
    base = found.baseline
    if (run := arm.refusal) and run.refusal:
        return run.refusal.sentence(run.refused_by)
    if arm.is_baseline:
        return ""
    if base.refusal and (carried := _carried(found, arm)):
        return carried
    if figure.verdict is None or figure.verdict is Verdict.NOT_ENOUGH:
        why = figure.missing or _missing(found.metric, (base, arm))
        return f"not enough data to judge {arm.label} by {base.label}: it needs {why}" if why else ""
    return _judged(found, arm, figure)


def _carried(found: Comparison, arm: Arm) -> str:
    """What an arm did that the baseline was refused: `the pool carried 150 clients at 344 tps`, and any doubt of it."""
    runs = arm.valid or tuple(run for run in arm.runs if run.outcome is Outcome.SUSPECT)
    alone = [one.runs[0].endpoint_kind for one in found.arms].count("pooled") == 1 and arm.runs[
        0
    ].endpoint_kind == "pooled"
    asked, tps = comparison.clients_asked(arm.runs[0].options), _values(runs, "tps")
    clients = f"{asked:,.0f} clients" if asked else "its clients"
    doubt = "" if arm.n_valid else f" ({'; '.join(dict.fromkeys(run.words for run in runs))})"
    who = "the pool" if alone else arm.label
    return f"{who} carried {clients} at {median(tps):,.0f} tps{doubt}" if tps else ""


def _judged(found: Comparison, arm: Arm, figure: Figure) -> str:
    interval = figure.interval
    if interval is None:
        return ""
    what = found.metric.label[0].lower() + found.metric.label[1:]
    pairs = _pairs(found.baseline, arm) or []
    rests = f"{len(pairs)} pairs" if interval.paired else f"{found.baseline.n_valid} and {arm.n_valid} runs"
    ratio = f"×{interval.ratio:.2f} its {what} (95 % interval ×{interval.low:.2f} to ×{interval.high:.2f}, {rests})"
    if figure.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference shown between {arm.label} and {found.baseline.label}: {ratio}"
    return f"{arm.label} is {figure.verdict} than {found.baseline.label}: {ratio}"
