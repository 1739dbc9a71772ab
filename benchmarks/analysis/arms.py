"""Comparison of runs: repeats of one configuration form an arm, and only arms with repeats get a verdict; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis import comparison, conclusions, confidence_intervals
from benchmarks.analysis.comparison import Difference
from benchmarks.analysis.conclusions import Outcome, Verdict
from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS, FIXED, TIE_BAND, Interval, Rule
from benchmarks.analysis.subjects import Subject, key_of, values_of
from benchmarks.models import metrics
from benchmarks.models.metrics import Direction, Metric
from benchmarks.models.options import Stage
from benchmarks.models.summaries import Summary

__all__ = [
    "Arm",
    "Comparison",
    "Figure",
    "Outcome",
    "Verdict",
    "compare",
    "labels",
    "pairs_of",
    "verdict_of",
]


@dataclass(frozen=True)
class Figure:
    """One metric of an arm, over its valid runs.

    `ratio` and `interval` compare it with the baseline's figure. `verdict` is None where none is asked for, and
    `missing` names the data that a verdict still needs.
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
        """The color of the verdict on a page: `better`, `worse` or `none`."""
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
        return len(self.valid)

    @property
    def outcome(self) -> Outcome:
        """Succeeded if any run did; else refused if any run was; else the first run's outcome."""
        found = [run.outcome for run in self.runs]
        return next((one for one in (Outcome.SUCCEEDED, Outcome.REFUSED) if one in found), found[0])

    @property
    def words(self) -> str:
        """The number of valid runs and the outcomes of the others: `2 of 3 valid; suspect: some clients hung`."""
        others = dict.fromkeys(run.words for run in self.runs if not run.counts)
        valid = _("%(valid)s of %(all)s valid") % {"valid": self.n_valid, "all": len(self.runs)}
        return "; ".join([valid, *others])

    @property
    def refusal(self) -> Subject | None:
        """The first run that was refused; None where the arm has valid runs or none was refused."""
        refused = [run for run in self.runs if run.refusal]
        return refused[0] if refused and not self.n_valid else None

    @property
    def at_work(self) -> tuple[float, float] | None:
        """(busy clients, clients asked for) by the median of its runs, where the two differ; else None."""
        busy = values_of(self.valid, "effective_clients")
        summary: Summary = {"effective_clients": median(busy)} if busy else {}
        return comparison.idle_clients(self.runs[0].options, summary)


@dataclass(frozen=True)
class Row:
    """One metric over all arms."""

    metric: Metric
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class Comparison:
    """A finished comparison, as page and API show it; the first arm is the baseline."""

    metric: Metric
    arms: tuple[Arm, ...]
    rows: tuple[Row, ...]
    differs_in: tuple[Difference, ...]
    noise: float | None  # a standard deviation of repeats, as a share
    conclusions: tuple[str, ...]

    @property
    def baseline(self) -> Arm:
        return self.arms[0]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures of the chosen metric, in the order of the arms."""
        empty = tuple(Figure(None, None, None) for _ in self.arms)
        return next((row.figures for row in self.rows if row.metric == self.metric), empty)

    @property
    def conclusion(self) -> str:
        """All conclusions as one text of sentences."""
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in self.conclusions)

    @property
    def noise_words(self) -> str:
        """A sentence about how much repeats vary here, or that it is not known yet."""
        if self.noise is None:
            return _("How much runs vary here is not known yet: repeat one configuration to see.")
        text = _("Repeats of one configuration vary by ±%(share)s here (standard deviation).")
        return text % {"share": f"{self.noise:.1%}"}


def compare(
    subjects: Sequence[Subject], *, baseline: str = "", metric: str = "tps", tie_band: float = TIE_BAND
) -> Comparison:
    """Sort the runs into arms and judge each by the baseline; `baseline` is an arm's key (default: the first run's).

    The intervals of all arms hold together with 95 %. Raises `KeyError` for a key or a metric that does not exist here.
    """
    arms = _arms(subjects, baseline)
    return compare_arms(arms, metric=metric, rule=Rule(tie_band, comparisons=len(arms) - 1))


def compare_arms(arms: Sequence[Arm], *, metric: str = "tps", rule: Rule = FIXED) -> Comparison:
    """Compare arms that are made already, the first of them the baseline; raises `KeyError` for an unknown metric."""
    judged, arms = metrics.BY_KEY[metric], tuple(arms)
    subjects = [run for arm in arms for run in arm.runs]
    measured = [one for one in metrics.METRICS if any(run.summary.get(one.key) is not None for run in subjects)]
    rows = tuple(Row(one, tuple(_figure(one, arms[0], arm, rule) for arm in arms)) for one in measured)
    noise = confidence_intervals.repeatability([values_of(arm.valid, metric) for arm in arms])
    found = Comparison(judged, arms, rows, _differs_in(arms), noise, ())
    sentences = tuple(_conclusion(found, arm, figure) for arm, figure in zip(arms, found.figures, strict=True))
    return Comparison(judged, arms, rows, found.differs_in, noise, tuple(one for one in sentences if one))


def _arms(subjects: Sequence[Subject], baseline: str) -> tuple[Arm, ...]:
    sets: dict[str, list[Subject]] = {}
    for run in subjects:
        sets.setdefault(key_of(run), []).append(run)
    first = baseline or next(iter(sets))
    order = [first, *(key for key in sets if key != first)]
    kept = [tuple(sorted(sets[key], key=lambda run: run.number)) for key in order]
    names = labels([runs[0] for runs in kept])
    found = zip(order, names, kept, strict=True)
    return tuple(Arm(key, label, runs, at == 0) for at, (key, label, runs) in enumerate(found))


def labels(firsts: Sequence[Subject]) -> list[str]:
    """Label each arm by its endpoint; where that is ambiguous, add the target and up to four differing options."""
    endpoints = [run.label for run in firsts]
    if len(set(endpoints)) == len(endpoints):
        return endpoints
    if len({run.target for run in firsts}) > 1:
        endpoints = [f"{run.label} {run.target}" for run in firsts]
    differing = comparison.differences([run.settings for run in firsts])[:4]
    parts = [", ".join(f"{one.name} {one.values[at]}" for one in differing) for at in range(len(firsts))]
    return [f"{label}, {part}" if part else label for label, part in zip(endpoints, parts, strict=True)]


def _differs_in(arms: Sequence[Arm]) -> tuple[Difference, ...]:
    configurations = []
    for arm in arms:
        versions = ", ".join(dict.fromkeys(run.server_version for run in arm.runs if run.server_version))
        configurations.append(arm.runs[0].settings | {comparison.server_version_name(): versions})
    return comparison.differences(configurations)


def _figure(metric: Metric, base: Arm, arm: Arm, rule: Rule) -> Figure:
    values = values_of(arm.valid, metric.key) or values_of(arm.runs, metric.key)
    if not values:
        return Figure(None, None, None)
    figure = Figure(median(values), min(values), max(values))
    base_values = values_of(base.valid, metric.key)
    if arm.is_baseline or not arm.n_valid or not base_values:
        return figure
    if _stages_of(arm) != _stages_of(base):  # means over different loads, of which no ratio is true
        verdict = Verdict.NOT_ENOUGH if metric.is_judged else None
        return replace(figure, verdict=verdict, missing=_("runs with the same stages"))
    if not metric.is_judged:
        return replace(figure, ratio=_ratio(median(values), median(base_values)))
    if missing := _missing(metric, (base, arm)):
        ratio = _ratio(median(values), median(base_values))
        return replace(figure, ratio=ratio, verdict=Verdict.NOT_ENOUGH, missing=missing)
    interval = _interval(metric, base, arm, rule)
    ratio = interval.ratio if interval else None
    return replace(figure, ratio=ratio, interval=interval, verdict=_verdict(metric, interval, rule))


def _stages_of(arm: Arm) -> Sequence[Stage]:
    return arm.runs[0].options.get("stages", [])


def _ratio(value: float, base: float) -> float | None:
    return value / base if base else None


def _missing(metric: Metric, arms: Sequence[Arm]) -> str:
    """List the runs and logged transactions that a verdict still needs; empty where it has enough."""
    needed = []
    for arm in arms:
        more = ENOUGH_REPEATS - len(values_of(arm.valid, metric.key))
        if more > 0:
            runs = ngettext("%(count)s more valid run of %(arm)s", "%(count)s more valid runs of %(arm)s", more)
            needed.append(runs % {"count": more, "arm": arm.label})
        logged = sum(values_of(arm.valid, "latency_samples"))
        if metric.samples_needed > logged:
            samples = _("%(needed)s logged transactions of %(arm)s (it has %(logged)s)")
            numbers = {"needed": f"{metric.samples_needed:,}", "logged": f"{logged:,.0f}"}
            needed.append(samples % {"arm": arm.label, **numbers})
    return ", ".join(needed)


def _interval(metric: Metric, base: Arm, arm: Arm, rule: Rule) -> Interval | None:
    pairs = pairs_of(metric.key, base, arm)
    if len(pairs) >= ENOUGH_REPEATS:
        return confidence_intervals.of_pairs(pairs, rule)
    if rule.is_sequential:  # Student's interval of single runs does not hold at each look
        return None
    return confidence_intervals.of_samples(values_of(base.valid, metric.key), values_of(arm.valid, metric.key), rule)


def pairs_of(metric: str, base: Arm, arm: Arm) -> list[tuple[float, float]]:
    """Return the figures of both arms, pair by pair of valid runs; empty where the runs are too few or no pairs."""
    values = [(one.summary.get(metric), other.summary.get(metric)) for one, other in _pairs(base, arm) or []]
    return [(one, other) for one, other in values if isinstance(one, int | float) and isinstance(other, int | float)]


def _pairs(base: Arm, arm: Arm) -> list[tuple[Subject, Subject]] | None:
    """Pair the runs of both arms group by group, keeping the pairs of two valid runs.

    None where a run has no group or no partner, or fewer than `ENOUGH_REPEATS` pairs are left.
    """
    found: list[tuple[Subject, Subject]] = []
    for group in {run.group for run in (*base.runs, *arm.runs)}:
        runs = [[run for run in one.runs if run.group == group] for one in (base, arm)]
        if not group or abs(len(runs[0]) - len(runs[1])) > 1:  # one of them may be still to come
            return None
        found += zip(*runs, strict=False)
    valid = [pair for pair in found if pair[0].counts and pair[1].counts]
    return valid if len(valid) >= ENOUGH_REPEATS else None


def _verdict(metric: Metric, interval: Interval | None, rule: Rule) -> Verdict | None:
    if interval is None:
        return Verdict.NOT_ENOUGH if rule.is_sequential else None
    if interval.is_tie(rule):
        return Verdict.NO_DIFFERENCE
    return Verdict.FASTER if (interval.ratio > 1) == (metric.direction is Direction.UP) else Verdict.SLOWER


def verdict_of(found: Comparison, arm: Arm, figure: Figure) -> Verdict | None:
    """Return the verdict on an arm: its figure's, or that it was refused.

    None for the baseline, and for a valid arm beside a refused baseline.
    """
    if arm.refusal:
        return Verdict.REFUSED
    if arm.is_baseline or (found.baseline.refusal and arm.n_valid):
        return None
    return figure.verdict or (None if arm.n_valid and found.baseline.n_valid else Verdict.NOT_ENOUGH)


def _conclusion(found: Comparison, arm: Arm, figure: Figure) -> str:
    base = found.baseline
    if run := arm.refusal:
        return run.refusal_sentence
    if arm.is_baseline:
        return ""
    if base.refusal and (carried := _carried(found, arm)):
        return carried
    if figure.verdict is None or figure.verdict is Verdict.NOT_ENOUGH:
        why = figure.missing or _missing(found.metric, (base, arm))
        text = _("not enough data to judge %(arm)s by %(baseline)s; missing: %(missing)s")
        return text % {"arm": arm.label, "baseline": base.label, "missing": why} if why else ""
    return _judged(found, arm, figure)


def _carried(found: Comparison, arm: Arm) -> str:
    """Return a sentence on an arm whose baseline was refused: `the pool carried 150 clients at 344 tps`.

    The outcomes of the runs follow in brackets where none of them is valid; empty where no throughput is known.
    """
    runs = arm.valid or tuple(run for run in arm.runs if run.outcome is Outcome.SUSPECT)
    requested_clients, tps = comparison.clients_asked(arm.runs[0].options), values_of(runs, "tps")
    if not tps:
        return ""
    only_pool = arm.runs[0].is_pooled and sum(one.runs[0].is_pooled for one in found.arms) == 1
    words = {"arm": arm.label, "clients": f"{requested_clients or 0:,.0f}", "tps": f"{median(tps):,.0f}"}
    carried = conclusions.carried_format(only_pool=only_pool, counted=bool(requested_clients)) % words
    if arm.n_valid:
        return carried
    doubts = "; ".join(dict.fromkeys(run.words for run in runs))
    return _("%(conclusion)s (%(doubts)s)") % {"conclusion": carried, "doubts": doubts}


def _judged(found: Comparison, arm: Arm, figure: Figure) -> str:
    if figure.interval is None or figure.verdict is None:
        return ""
    names = {"arm": arm.label, "baseline": found.baseline.label, "metric": found.metric.label}
    runs = (found.baseline.n_valid, arm.n_valid)
    pairs = len(_pairs(found.baseline, arm) or []) if figure.interval.paired else 0
    return conclusions.judged(figure.verdict, figure.interval, names, runs=runs, pairs=pairs)
