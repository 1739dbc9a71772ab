"""Arms as rows of dots: every run, the median, and the ratio to the baseline beside the published one; pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, log10

from benchmarks.experiments.results import ArmResult, Result

WIDTH, ROW, TOP, BOTTOM = 720, 30, 8, 26
LABELS, GAP = 256, 32
LEFT = LABELS
MIDDLE = LEFT + (WIDTH - LEFT) * 0.55
RATIOS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
TICKS = 4


@dataclass(frozen=True)
class Dot:
    """A run: where it stands, whether it counts, and its words."""

    x: float
    counts: bool
    words: str


@dataclass(frozen=True)
class Row:
    """An arm: its runs on the left scale, its ratio with the interval and the published ratio on the right one."""

    y: float
    label: str
    dots: tuple[Dot, ...]
    median: float | None
    ratio: float | None
    ends: tuple[float, float] | None
    published: float | None
    is_baseline: bool
    note: str = ""


@dataclass(frozen=True)
class Chart:
    """What the template writes as SVG."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    ratio_ticks: tuple[tuple[float, str], ...]
    height: float
    width: int = WIDTH
    left: int = LEFT
    middle: float = MIDDLE
    one: float = 0.0
    base: float = 0.0


def draw(result: Result) -> Chart | None:
    """Return the chart of the metric that verdicts rest on; None before any run has a figure."""
    metric = result.spec.metric
    values = [value for one in result.arms if one.arm for value in _values(one, metric)]
    if not values:
        return None
    top = max(values) * 1.05
    ratios = [ratio for one in result.arms for ratio in _ratios(one, published_ratio(result, one))]
    low, high = min([0.5, *ratios]) / 1.1, max([2.0, *ratios]) * 1.1
    rows = tuple(_row(result, one, at, top, (low, high)) for at, one in enumerate(result.arms))
    return Chart(
        rows=rows,
        ticks=tuple((_x(value, top), f"{value:,.6g}") for value in round_ticks(top)),
        ratio_ticks=tuple((_ratio_x(one, low, high), f"×{one:g}") for one in RATIOS if low <= one <= high),
        height=TOP + ROW * len(rows) + BOTTOM,
        one=_ratio_x(1, low, high),
        base=TOP + ROW * len(rows),
    )


def round_ticks(top: float) -> list[float]:
    """Return values from 0 up to the top in steps of 1, 2 or 5 times a power of ten, four of them at most beside 0."""
    unit: float = 10 ** floor(log10(top / TICKS))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * (TICKS + 1) > top)
    return [step * at for at in range(floor(top / step) + 1)]


def published_ratio(result: Result, one: ArmResult) -> float | None:
    """Return what the source's figures give for an arm beside its baseline."""
    base = next((arm for arm in result.arms if arm.spec.key == one.baseline), None)
    ours = one.spec.published.get(result.spec.metric)
    theirs = base.spec.published.get(result.spec.metric) if base else None
    return ours / theirs if ours and theirs else None


def _values(one: ArmResult, metric: str) -> list[float]:
    runs = one.arm.runs if one.arm else ()
    return [value for run in runs if isinstance(value := run.summary.get(metric), int | float)]


def _ratios(one: ArmResult, published: float | None) -> Iterable[float]:
    figure = one.figure
    if figure and figure.ratio:
        yield figure.ratio
    if figure and figure.interval:
        yield from (figure.interval.low, figure.interval.high)
    if published:
        yield published


def _row(result: Result, one: ArmResult, at: int, top: float, ends: tuple[float, float]) -> Row:
    figure, metric = one.figure, result.spec.metric
    published = published_ratio(result, one)
    interval = figure.interval if figure else None
    return Row(
        y=TOP + ROW * (at + 0.5),
        label=one.spec.label,
        dots=tuple(_dots(one, metric, top)),
        median=_x(figure.median, top) if figure and figure.median is not None else None,
        ratio=_ratio_x(figure.ratio, *ends) if figure and figure.ratio and one.baseline else None,
        ends=(_ratio_x(interval.low, *ends), _ratio_x(interval.high, *ends)) if interval else None,
        published=_ratio_x(published, *ends) if published else None,
        is_baseline=one.is_baseline,
        note=_note(one),
    )


def _note(one: ArmResult) -> str:
    if one.skipped:
        return one.skipped
    return one.arm.refusal.words if one.arm and one.arm.refusal else ""


def _dots(one: ArmResult, metric: str, top: float) -> Iterable[Dot]:
    for run in one.arm.runs if one.arm else ():
        value = run.summary.get(metric)
        if isinstance(value, int | float):
            yield Dot(_x(value, top), run.counts, f"{run.number}: {value:,.1f} ({run.words})")


def _x(value: float, top: float) -> float:
    return round(LEFT + (MIDDLE - GAP - LEFT) * min(value, top) / top, 1)


def _ratio_x(value: float, low: float, high: float) -> float:
    share = (log10(max(value, low)) - log10(low)) / (log10(high) - log10(low))
    return round(MIDDLE + (WIDTH - GAP - MIDDLE) * min(share, 1.0), 1)
