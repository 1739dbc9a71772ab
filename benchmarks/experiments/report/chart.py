"""Arms as rows of dots: every run, the median, and the ratio to the baseline beside the published one; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import floor, log10

from django.utils.translation import gettext as _

from benchmarks.analysis.round_steps import round_step
from benchmarks.analysis.subjects import values_of
from benchmarks.experiments.results import ArmResult, Result

TOP, BOTTOM = 8, 26
RATIOS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
TICKS = 4


@dataclass(frozen=True)
class Frame:
    """The geometry of a chart: the scale of values and that of ratios, each from left to right end.

    Ratios lie beside the values of their row, or below them in rows of their own (`is_stacked`).
    """

    width: int
    row: int  # its height
    middle: int  # distance from the top of a row to its marks
    values: tuple[float, float]
    ratios: tuple[float, float]
    label: tuple[float, float]  # offset of a row's label from the middle of the row
    label_characters: int
    note_characters: int  # the limit for the note of a row without a ratio beside it
    characters_of_values: int  # the limit for a text as wide as the scale of values
    is_stacked: bool = False

    def drop(self, rows: int) -> int:
        """Return the distance in pixels from the values of a row down to its ratio."""
        return self.row * rows + BOTTOM + TOP if self.is_stacked else 0


WIDE = Frame(720, 30, 15, (256, 479), (511, 688), (246, 4), 37, 72, 36)
NARROW = Frame(320, 38, 26, (8, 304), (8, 304), (0, -11), 42, 48, 48, is_stacked=True)


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
    note_characters: int = 0  # more would reach over the published ratio


@dataclass(frozen=True)
class Chart:
    """The shapes that the template writes as SVG; `narrow` has them for a small screen."""

    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, str], ...]
    ratio_ticks: tuple[tuple[float, str], ...]
    frame: Frame
    one: float  # x at which the ratio is 1
    narrow: "Chart | None" = None

    @property
    def base(self) -> int:
        """The line below the rows."""
        return TOP + self.frame.row * len(self.rows)

    @property
    def drop(self) -> int:
        """The distance in pixels from the values down to the ratios."""
        return self.frame.drop(len(self.rows))

    @property
    def height(self) -> int:
        return self.base + self.drop + BOTTOM


def draw(result: Result) -> Chart | None:
    """Return the chart of the metric that verdicts rest on; None before any run has a figure."""
    metric = result.spec.metric
    values = [value for one in result.arms if one.arm for value in values_of(one.arm.runs, metric)]
    if not values:
        return None
    ratios = [ratio for one in result.arms for ratio in _ratios(one, published_ratio(result, one))]
    ends = min([0.5, *ratios]) / 1.1, max([2.0, *ratios]) * 1.1
    narrow = _draw(result, NARROW, max(values) * 1.05, ends)
    return replace(_draw(result, WIDE, max(values) * 1.05, ends), narrow=narrow)


def _draw(result: Result, frame: Frame, top: float, ends: tuple[float, float]) -> Chart:
    scales = Scales(frame, top, *ends)
    ticks = tuple((scales.x(value), f"{value:,.6g}") for value in round_ticks(top))
    ratio_ticks = tuple((scales.ratio_x(one), f"×{one:g}") for one in RATIOS if ends[0] <= one <= ends[1])
    labels = without_common_prefix([one.spec.label for one in result.arms])
    rows = tuple(
        _row(result, one, label, at, scales) for at, (one, label) in enumerate(zip(result.arms, labels, strict=True))
    )
    return Chart(rows, ticks, ratio_ticks, frame, scales.ratio_x(1))


@dataclass(frozen=True)
class Scales:
    """The scale of values, from 0 to `top`, and the logarithmic one of ratios, on a frame."""

    frame: Frame
    top: float
    low: float
    high: float

    def x(self, value: float) -> float:
        """Return the horizontal position of a value in px."""
        left, right = self.frame.values
        return round(left + (right - left) * min(value, self.top) / self.top, 1)

    def ratio_x(self, value: float) -> float:
        """Return the horizontal position of a ratio in px."""
        left, right = self.frame.ratios
        share = (log10(max(value, self.low)) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return round(left + (right - left) * min(share, 1.0), 1)


def round_ticks(top: float) -> list[float]:
    """Return values from 0 up to the top in steps of 1, 2 or 5 times a power of ten, four of them at most beside 0."""
    step = round_step(top, TICKS + 1)
    return [step * at for at in range(floor(top / step) + 1)]


def published_ratio(result: Result, one: ArmResult) -> float | None:
    """Return the ratio of an arm's published figure to its baseline's; None where one is missing."""
    base = next((arm for arm in result.arms if arm.spec.key == one.baseline), None)
    figure = one.spec.published_figure(result.spec.metric)
    base_figure = base.spec.published_figure(result.spec.metric) if base else None
    return figure / base_figure if figure and base_figure else None


def _ratios(one: ArmResult, published: float | None) -> Iterable[float]:
    figure = one.figure
    if figure and figure.ratio:
        yield figure.ratio
    if figure and figure.interval:
        yield from (figure.interval.low, figure.interval.high)
    if published:
        yield published


def without_common_prefix(labels: Sequence[str]) -> list[str]:
    """Return the labels without the values at their beginning that all have: a row has room for the others then."""
    parts = [label.split(", ") for label in labels]
    shared = 0
    while min(map(len, parts), default=0) > shared + 1 and len({one[shared] for one in parts}) == 1:
        shared += 1
    return [", ".join(one[shared:]) for one in parts]


def _row(result: Result, one: ArmResult, label: str, at: int, scales: Scales) -> Row:
    figure, metric = one.figure, result.spec.metric
    published = published_ratio(result, one)
    interval = figure.interval if figure else None
    return Row(
        y=TOP + scales.frame.row * at + scales.frame.middle,
        label=label,
        dots=tuple(_dots(one, metric, scales)),
        median=scales.x(figure.median) if figure and figure.median is not None else None,
        ratio=scales.ratio_x(figure.ratio) if figure and figure.ratio and one.baseline else None,
        ends=(scales.ratio_x(interval.low), scales.ratio_x(interval.high)) if interval else None,
        published=scales.ratio_x(published) if published else None,
        is_baseline=one.is_baseline,
        note=_note(one, metric),
        note_characters=scales.frame.characters_of_values if published else scales.frame.note_characters,
    )


def _note(one: ArmResult, metric: str) -> str:
    if one.skipped:
        return _("not measured")
    has_figures = one.arm and values_of(one.arm.runs, metric)  # The words would cover the dots.
    return one.arm.refusal.words if one.arm and one.arm.refusal and not has_figures else ""


def _dots(one: ArmResult, metric: str, scales: Scales) -> Iterable[Dot]:
    for run in one.arm.runs if one.arm else ():
        value = run.summary.get(metric)
        if isinstance(value, int | float):
            yield Dot(scales.x(value), run.counts, f"{run.number}: {value:,.1f} ({run.words})")
