"""The figures of a schedule's nights in their order, where their level moved, and how small a move could be shown."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import sqrt
from statistics import NormalDist, fmean, median, stdev
from uuid import UUID

from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from benchmarks.analysis.change_points import STRICT, WINDOW, ChangePoint, change_points
from benchmarks.analysis.confidence_intervals import Interval, student_t
from benchmarks.models import Run, Schedule, ScheduledStart, Validity
from benchmarks.schedules import left_out, surroundings
from benchmarks.schedules.left_out import LeftOut
from benchmarks.schedules.surroundings import Facts

MOST_NIGHTS = 400
FEWEST_LEARNT = 5  # nights from which a boundary is learnt
OUTSIDE = 0.001  # the share of nights beyond a boundary while nothing changes
WITHIN_NIGHTS = 5
POWER = 0.8
RATIO = "ratio"
START_COLUMNS = ("schedule", "due_at", "state", "reason", "run__number", "run__group")
# Without what surrounded it: that is long, and read of the nights beside a change alone.
RUN_COLUMNS = ("number", "group", "pooled", "pool", "summary", "status", "validity", "reasons", "error")


@dataclass(frozen=True)
class Metric:
    """A figure of a night, with its name in a title and in a sentence; `sign` is 1 where more is better."""

    key: str
    label: str | Promise
    noun: str | Promise
    unit: str
    sign: int


METRICS = (
    Metric("tps", _("Throughput"), _("the throughput"), "tps", 1),
    Metric("latency_p95_ms", _("p95 latency"), _("the p95 latency"), "ms", -1),
    Metric(RATIO, _("Ratio of the throughputs, pooled to direct"), _("the ratio of the pair"), "", 1),
)


@dataclass(frozen=True)
class Night:
    """A start with its valid runs and their medians by metric."""

    start: ScheduledStart
    runs: tuple[Run, ...]
    figures: dict[str, float]

    @property
    def at(self) -> datetime:
        """Its due time."""
        return self.start.due_at


@dataclass(frozen=True)
class Change:
    """A move of the level: the first night after it, its size, and what differs from the night before."""

    night: Night
    ratio: float
    interval: Interval | None
    is_worse: bool
    around: tuple[str, ...]


@dataclass(frozen=True)
class Trend:
    """A metric over the nights that have it.

    `boundaries` hold a night like those since the last change in 999 of 1,000 cases; `typed` is the limit of the run
    itself; `detectable` is the smallest change, as a share, that five nights would show in four of five cases. Each
    None where there are too few nights, or none was typed.
    """

    metric: Metric
    nights: tuple[Night, ...]
    changes: tuple[Change, ...]
    boundaries: tuple[float, float] | None
    typed: float | None
    detectable: float | None

    @property
    def values(self) -> list[float]:
        """The figures in their order."""
        return [night.figures[self.metric.key] for night in self.nights]

    @property
    def level(self) -> list[float]:
        """The figures of the nights since the last change."""
        return self.values[self.nights.index(self.changes[-1].night) if self.changes else 0 :]


@dataclass(frozen=True)
class History:
    """The nights of a schedule that have a figure, those that have none with the reason, and the trends of metrics."""

    nights: tuple[Night, ...]
    left_out: tuple[LeftOut, ...]
    trends: tuple[Trend, ...]


def of(schedule: Schedule, until: datetime | None = None) -> History:
    """Return the latest nights, of those due until a moment if one is given, and the trends that two nights have.

    There is no trend of an experiment, whose page has its own.
    """
    if schedule.run is None:
        return History((), (), ())
    nights, without = _nights(schedule, until)
    trends = [trend(metric, [one for one in nights if metric.key in one.figures]) for metric in METRICS]
    found = [replace(one, typed=_typed(schedule.run, one.metric)) for one in trends if len(one.nights) > 1]
    return History(tuple(nights), tuple(without), _with_surroundings(found))


def _nights(schedule: Schedule, until: datetime | None) -> tuple[list[Night], list[LeftOut]]:
    due = Q() if until is None else Q(due_at__lte=until)
    starts = list(schedule.starts.filter(due).select_related("run").only(*START_COLUMNS)[:MOST_NIGHTS])
    runs = _runs_of(starts)
    nights, without = [], []
    for start in reversed(starts):
        night = _night(start, [run for run in runs[start.pk] if run.validity == Validity.VALID])
        if night.figures:
            nights.append(night)
        elif reason := left_out.why(start, runs[start.pk]):
            without.append(LeftOut(start, reason))
    return nights, without


def _runs_of(starts: Sequence[ScheduledStart]) -> dict[UUID, list[Run]]:
    """Return the runs by the start that began them, in two queries."""
    own = {start.run_id: start.pk for start in starts if start.run_id}
    groups = {start.run.group: start.pk for start in starts if start.run and start.run.group}
    runs = Run.objects.filter(parent=None).only(*RUN_COLUMNS).order_by("number")
    found: dict[UUID, list[Run]] = defaultdict(list)
    for run in [*runs.filter(group__in=list(groups)), *runs.filter(pk__in=list(own), group=None)]:
        found[groups[run.group] if run.group else own[run.pk]].append(run)
    return found


def _night(start: ScheduledStart, runs: Sequence[Run]) -> Night:
    pooled = [run for run in runs if run.went_through_pool]
    direct = [run for run in runs if not run.went_through_pool]
    measured = pooled or direct
    figures = {metric.key: median(found) for metric in METRICS if (found := list(_values(measured, metric.key)))}
    past = list(_values(direct, "tps"))
    if pooled and past and "tps" in figures:
        figures[RATIO] = figures["tps"] / median(past)
    return Night(start, (*direct, *pooled), figures)


def _values(runs: Sequence[Run], key: str) -> Iterator[float]:
    for run in runs:
        value: object = dict(run.summary).get(key)
        if isinstance(value, int | float) and value > 0:
            yield float(value)


def trend(metric: Metric, found: Sequence[Night]) -> Trend:
    """Return the trend of a metric over nights that all have it; its changes without what surrounded them."""
    values = [night.figures[metric.key] for night in found]
    points = change_points(values)
    changes = tuple(_change(metric, found, point) for point in points)
    level = values[points[-1].at if points else 0 :]
    return Trend(metric, tuple(found), changes, boundaries(level), None, detectable(level))


def _change(metric: Metric, found: Sequence[Night], point: ChangePoint) -> Change:
    is_worse = (point.ratio - 1) * metric.sign < 0
    return Change(found[point.at], point.ratio, point.interval, is_worse, ())


def _with_surroundings(found: Sequence[Trend]) -> tuple[Trend, ...]:
    """Return the trends with what changed around their changes, in one query."""
    facts = _facts_of(night for one in found for change in one.changes for night in _beside(one, change))
    return tuple(
        replace(one, changes=tuple(replace(change, around=_around(one, change, facts)) for change in one.changes))
        for one in found
    )


def _beside(one: Trend, change: Change) -> tuple[Night, Night]:
    """Return the last night before a change and the first one after it."""
    at = one.nights.index(change.night)
    return one.nights[at - 1], one.nights[at]


def _facts_of(nights: Iterable[Night]) -> dict[UUID, Facts]:
    """Return what surrounded the nights, by their starts."""
    runs_of = {night.start.pk: night.runs for night in nights}
    wanted = [run.pk for runs in runs_of.values() for run in runs]
    if not wanted:
        return {}
    stored = Run.objects.only("evidence", "server_version", "client_version", "generator").in_bulk(wanted)
    return {key: surroundings.of_night([stored[run.pk] for run in runs]) for key, runs in runs_of.items()}


def _around(one: Trend, change: Change, facts: dict[UUID, Facts]) -> tuple[str, ...]:
    before, after = _beside(one, change)
    return tuple(surroundings.changes(facts[before.start.pk], facts[after.start.pk]))


def boundaries(level: Sequence[float]) -> tuple[float, float] | None:
    """Return between which values the next night lies unless something changes; None of fewer than five nights.

    It is Student's prediction interval of one more value.
    """
    if len(level) < FEWEST_LEARNT:
        return None
    reach = student_t(len(level) - 1, OUTSIDE) * stdev(level) * sqrt(1 + 1 / len(level))
    middle = fmean(level)
    return max(0.0, middle - reach), middle + reach


def detectable(level: Sequence[float]) -> float | None:
    """Return the share by which the level must move to be found within five nights in four of five cases.

    By the power of the t test that the change points rest on, with its correction for the number of places.
    """
    before = len(level)
    if before < FEWEST_LEARNT or not fmean(level):
        return None
    places = max(1, min(before + WITHIN_NIGHTS, WINDOW) - 2 * STRICT.fewest + 1)
    certain = student_t(before + WITHIN_NIGHTS - 2, STRICT.max_p / places)
    error = stdev(level) * sqrt(1 / before + 1 / WITHIN_NIGHTS)
    return (certain + NormalDist().inv_cdf(POWER)) * error / fmean(level)


def _typed(run: Run, metric: Metric) -> float | None:
    """Return the limit that was typed for the run's metric."""
    found = next((one for one in run.thresholds if one["metric"] == metric.key), None)
    return None if found is None else float(found.get("at_least", found.get("at_most", 0.0)))
