"""The drawing of a trend as SVG, with the figures beside it; no JavaScript takes part."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from django.utils.translation import gettext as _

from benchmarks.analysis.round_steps import round_step
from benchmarks.schedules import cron
from benchmarks.schedules.trends import Change, Night, Trend

WIDTH, HEIGHT = 640, 190
LEFT, RIGHT, TOP, BASE = 64, 630, 12, 160
MARGIN = 0.08  # of the range, beyond the outermost figure
TICKS = 4  # at most, at round values
LISTED = 90  # nights in the table; the chart has all of them, each with its figure


@dataclass(frozen=True)
class Dot:
    """A night in the chart; `words` are its tooltip."""

    x: float
    y: float
    words: str
    is_outside: bool


@dataclass(frozen=True)
class Row:
    """A night in the table: its time, its figure, and the sentence of the change that it begins."""

    night: Night
    time: str
    figure: str
    is_outside: bool
    change: str


@dataclass(frozen=True)
class Drawing:
    """A chart with its sentences and its table, the latest night first; `unlisted` ones are in the chart alone."""

    trend: Trend
    dots: tuple[Dot, ...]
    line: str
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[float, ...]
    limits: tuple[float, ...]
    limits_from: float  # They are learnt from the nights from here on, and say nothing of those before.
    typed: float | None
    sentences: tuple[tuple[str, bool], ...]
    spread: str
    rows: tuple[Row, ...]
    unlisted: int
    first: str
    last: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    base: int = BASE


def draw(trend: Trend, zone: str) -> Drawing:
    """Return the drawing of a trend of at least two nights, its times in this zone."""
    values, limits = trend.values, trend.boundaries or ()
    low, high = _scale([*values, *limits, *([trend.typed] if trend.typed is not None else [])])
    xs = [_x(at, len(values)) for at in range(len(values))]
    times = [cron.shown(night.at, zone) for night in trend.nights]
    since = trend.nights.index(trend.changes[-1].night) if trend.changes else 0
    is_outside = [at >= since and _is_outside(trend, value) for at, value in enumerate(values)]
    dots = tuple(
        Dot(x, _y(value, low, high), f"{time}: {figure(trend, value)}", outside)
        for x, value, time, outside in zip(xs, values, times, is_outside, strict=True)
    )
    begun = {change.night.start.pk: sentence(trend, change, zone) for change in trend.changes}
    rows = [
        Row(night, time, figure(trend, value), dot.is_outside, begun.get(night.start.pk, ""))
        for night, time, value, dot in list(zip(trend.nights, times, values, dots, strict=True))[-LISTED:]
    ]
    return Drawing(
        trend=trend,
        dots=dots,
        line=" ".join(f"{dot.x},{dot.y}" for dot in dots),
        ticks=tuple((_y(value, low, high), f"{value:,.10g}") for value in _ticks(low, high)),
        marks=tuple(xs[trend.nights.index(change.night)] for change in trend.changes),
        limits=tuple(_y(limit, low, high) for limit in limits),
        limits_from=xs[since],
        typed=None if trend.typed is None else _y(trend.typed, low, high),
        sentences=tuple((begun[change.night.start.pk], change.is_worse) for change in reversed(trend.changes)),
        spread=spread(trend),
        rows=tuple(reversed(rows)),
        unlisted=len(values) - len(rows),
        first=times[0],
        last=times[-1],
    )


def sentence(trend: Trend, change: Change, zone: str) -> str:
    """Return what changed and when, with the interval and what changed around it."""
    words = {
        "metric": trend.metric.noun,
        "time": cron.shown(change.night.at, zone),
        "ratio": f"×{change.ratio:.2f}",
        "around": "; ".join(change.around),
    }
    if change.interval:
        low, high = f"×{change.interval.low:.2f}", f"×{change.interval.high:.2f}"
        words["ratio"] = _("%(ratio)s (%(low)s to %(high)s)") % {"ratio": words["ratio"], "low": low, "high": high}
    if change.around:
        return _("Since %(time)s (%(around)s) %(metric)s is %(ratio)s.") % words
    return _("Since %(time)s %(metric)s is %(ratio)s; nothing that the runs record changed then.") % words


def spread(trend: Trend) -> str:
    """Return what size of change these nights can show."""
    if trend.detectable is None:
        return _("Too few nights since the last change to say what size of change they can show.")
    text = _(
        "By the spread of these nights a change of %(percent)s %% would be found within five nights in four of five "
        "cases; a smaller one takes longer or stays unseen."
    )
    return text % {"percent": f"{100 * trend.detectable:.1f}"}


def figure(trend: Trend, value: float) -> str:
    """Return a value with its unit."""
    if not trend.metric.unit:
        return f"×{value:.3g}"
    return f"{value:,.0f} {trend.metric.unit}" if value >= 1000 else f"{value:.3g} {trend.metric.unit}"


def _is_outside(trend: Trend, value: float) -> bool:
    limits = trend.boundaries
    return limits is not None and not limits[0] <= value <= limits[1]


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * MARGIN or abs(high) * MARGIN or 1.0
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Return the round values between both ends, two to four of them."""
    step = round_step(high - low, TICKS)
    return [step * at for at in range(ceil(low / step), floor(high / step) + 1)]


def _x(at: int, count: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * (at + 0.5) / count, 1)


def _y(value: float, low: float, high: float) -> float:
    return round(BASE - (BASE - TOP) * (value - low) / (high - low), 1)
