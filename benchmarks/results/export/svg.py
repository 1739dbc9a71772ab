"""Line charts over time as SVG paths, for pages without scripts; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise

WIDTH, HEIGHT = 860, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 10, 26
TICKS = 5
Point = tuple[float, float | None]


@dataclass(frozen=True)
class Line:
    """One line of a chart; `points` are (seconds, value), a value of None breaks the line."""

    label: str | Promise
    points: Sequence[Point]


@dataclass(frozen=True)
class Drawing:
    """A chart as the template writes it: the paths of its lines, and position and label of each tick."""

    title: str | Promise
    unit: str | Promise
    paths: tuple[tuple[str | Promise, str], ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def draw(title: str | Promise, unit: str | Promise, lines: Sequence[Line], span: float) -> Drawing | None:
    """Draw a chart from zero to the highest value over `span` seconds; None if no line has two points."""
    drawn = [line for line in lines if sum(value is not None for _, value in line.points) > 1]
    if not drawn or span <= 0:
        return None
    top = _round_up(max(value for line in drawn for _, value in line.points if value is not None))
    return Drawing(
        title,
        unit,
        tuple((line.label, _path(line.points, span, top)) for line in drawn),
        tuple((_x(span * at / TICKS, span), f"{span * at / TICKS:g} s") for at in range(TICKS + 1)),
        tuple((_y(top * at / 2, top), f"{top * at / 2:,g}") for at in range(3)),
    )


def _path(points: Sequence[Point], span: float, top: float) -> str:
    words: list[str] = []
    pen_down = False
    for t, value in points:
        if value is not None:
            words.append(f"{'L' if pen_down else 'M'}{_x(t, span):.1f} {_y(value, top):.1f}")
        pen_down = value is not None
    return "".join(words)


def _x(t: float, span: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * min(max(t, 0.0), span) / span, 1)


def _y(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(value, 0.0), top) / top, 1)


def _round_up(value: float) -> float:
    """Round up to 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power: Any = 10.0 ** int(f"{value:e}".split("e")[1])
    return next((float(step * power) for step in (1, 2, 2.5, 5, 10) if value <= step * power), float(10 * power))
