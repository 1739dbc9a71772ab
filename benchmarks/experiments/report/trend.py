"""The ratios of a playbook's arms over its past experiments on a cluster: a small chart for each arm, one scale."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10

from django.utils.translation import gettext as _

from benchmarks.experiments import results
from benchmarks.experiments.results import ArmResult
from benchmarks.models import Experiment, ExperimentState

PAST = 10
MOST_CHARTS = 12
WIDTH, HEIGHT = 320, 124
LEFT, RIGHT, TOP, BASE = 44, 300, 10, 100
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
MARGIN = 1.15  # factor by which the scale extends beyond the outermost figure


@dataclass(frozen=True)
class PastExperiment:
    """An experiment with its arms that have a ratio to their baseline."""

    experiment: Experiment
    arms: tuple[ArmResult, ...]
    is_this: bool


@dataclass(frozen=True)
class Point:
    """A ratio in the chart; `ends` are the heights of its interval's ends, `words` the figures for a tooltip."""

    x: float
    y: float
    ends: tuple[float, float] | None
    words: str
    is_this: bool


@dataclass(frozen=True)
class ArmChart:
    """An arm over time, the oldest experiment first; `line` joins its points."""

    label: str
    points: tuple[Point, ...]
    line: str


@dataclass(frozen=True)
class Trend:
    """The content of the page: `rows` for the table, the latest first, and `charts` with the ticks that they share.

    `left_out` counts the arms that have no chart, for want of room.
    """

    rows: tuple[PastExperiment, ...]
    charts: tuple[ArmChart, ...]
    ticks: tuple[tuple[float, str], ...]
    numbers: tuple[tuple[float, int], ...]
    one: float
    left_out: int
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    base: int = BASE


def of(experiment: Experiment) -> Trend | None:
    """Return the experiments of the same playbook, cluster and size that succeeded; None where that is only one."""
    if experiment.advice:
        return None
    experiments = Experiment.objects.filter(
        playbook=experiment.playbook,
        cluster=experiment.cluster,
        quick=experiment.quick,
        advice={},
        state=ExperimentState.SUCCEEDED,
    )
    included = experiments.filter(pk=experiment.pk)  # an unfinished one would be a point of few runs
    together = [*experiments.exclude(pk=experiment.pk)[:PAST], *included]
    past = [_past(one, experiment) for one in sorted(together, key=lambda one: one.number)]
    past = [one for one in past if one.arms]
    return draw(past) if len(past) > 1 else None


def _past(one: Experiment, shown: Experiment) -> PastExperiment:
    arms = (arm for arm in results.of(one).arms if arm.baseline and arm.figure and arm.figure.ratio)
    return PastExperiment(one, tuple(arms), one.pk == shown.pk)


def draw(past: Sequence[PastExperiment]) -> Trend:
    """Return the charts of experiments in the order of time; each has an arm with a ratio at least."""
    low, high = _scale(past)
    labels = {arm.spec.key: arm.spec.label for one in past for arm in one.arms}
    charts = tuple(_chart(key, label, past, (low, high)) for key, label in labels.items())
    return Trend(
        rows=tuple(reversed(past)),
        charts=charts[:MOST_CHARTS],
        ticks=tuple((_y(ratio, low, high), f"×{ratio:g}") for ratio in RATIOS if low <= ratio <= high),
        numbers=tuple((_x(at, len(past)), one.experiment.number) for at, one in enumerate(past)),
        one=_y(1, low, high),
        left_out=max(0, len(charts) - MOST_CHARTS),
    )


def _scale(past: Sequence[PastExperiment]) -> tuple[float, float]:
    """Return the ends of the scale: all ratios and their intervals, and ×1 with some room around it."""
    ratios = [ratio for one in past for arm in one.arms for ratio in _ratios(arm)]
    return min([0.8, *ratios]) / MARGIN, max([2, *ratios]) * MARGIN


def _ratios(arm: ArmResult) -> Iterator[float]:
    figure = arm.figure
    if figure and figure.ratio:
        yield figure.ratio
    if figure and figure.interval and figure.interval.low > 0:
        yield from (figure.interval.low, figure.interval.high)


def _chart(key: str, label: str, past: Sequence[PastExperiment], ends: tuple[float, float]) -> ArmChart:
    points = []
    for at, one in enumerate(past):
        points += [_point(one, arm, _x(at, len(past)), ends) for arm in one.arms if arm.spec.key == key]
    return ArmChart(label, tuple(points), " ".join(f"{point.x},{point.y}" for point in points))


def _point(one: PastExperiment, arm: ArmResult, x: float, ends: tuple[float, float]) -> Point:
    ratios = list(_ratios(arm))
    words = dict(zip(("ratio", "low", "high"), (f"×{ratio:.2f}" for ratio in ratios), strict=False))
    values = {"number": one.experiment.number, **words}
    if len(ratios) == 1:
        return Point(x, _y(ratios[0], *ends), None, _("experiment %(number)s: %(ratio)s") % values, one.is_this)
    interval = (_y(ratios[1], *ends), _y(ratios[2], *ends))
    text = _("experiment %(number)s: %(ratio)s (%(low)s to %(high)s)") % values
    return Point(x, _y(ratios[0], *ends), interval, text, one.is_this)


def _x(at: int, count: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * (at + 0.5) / count, 1)


def _y(ratio: float, low: float, high: float) -> float:
    share = (log10(min(max(ratio, low), high)) - log10(low)) / (log10(high) - log10(low))
    return round(BASE - (BASE - TOP) * share, 1)
