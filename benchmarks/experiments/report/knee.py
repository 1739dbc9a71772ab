"""Throughput by pool size: every run as a dot, the fitted law as a curve, and the recommended size; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from benchmarks.experiments.advice.scalability import ScalabilityLaw

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BASE = 64, 16, 26, 252
TICKS = 4
CURVE_POINTS = 48
HEADROOM = 1.08
MARGIN = 6


@dataclass(frozen=True)
class Mark:
    """The recommended size: where it stands, its interval as (left edge, width), and the side of its label."""

    x: float
    band: tuple[float, float]
    size: int
    anchor: str


@dataclass(frozen=True)
class KneeChart:
    """The shapes that the template writes as SVG; `dots` are (x, y, tooltip), ticks (position, label)."""

    dots: tuple[tuple[float, float, str], ...]
    curve: str
    mark: Mark
    size_ticks: tuple[tuple[float, str], ...]
    tps_ticks: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    depth: int = BASE - TOP
    axis: int = (LEFT + WIDTH - RIGHT) // 2
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    base: int = BASE


def draw(
    measured: Mapping[int, Sequence[float]], law: ScalabilityLaw | None, size: int, interval: tuple[int, int]
) -> KneeChart | None:
    """Return the chart on a logarithmic axis of sizes; None where no size has a figure."""
    known = {at: list(values) for at, values in sorted(measured.items()) if values}
    if not known:
        return None
    low, high = min(known), max(known)
    top = max(value for values in known.values() for value in values) * HEADROOM

    def x(at: float) -> float:
        share = (log2(at) - log2(low)) / (log2(high) - log2(low)) if high > low else 0.5
        return round(LEFT + 20 + share * (WIDTH - RIGHT - LEFT - 40), 1)

    def y(tps: float) -> float:
        return round(BASE - (BASE - TOP) * min(tps, top) / top, 1)

    return KneeChart(
        dots=tuple((x(at), y(tps), f"{at}: {tps:,.0f} tps") for at, values in known.items() for tps in values),
        curve=" ".join(f"{x(at)},{y(law.throughput(at))}" for at in _steps(low, high)) if law else "",
        mark=Mark(x(size), _band(x(interval[0]), x(interval[1])), size, "end" if x(size) > WIDTH / 2 else "start"),
        size_ticks=tuple((x(at), str(at)) for at in known),
        tps_ticks=tuple((y(top * at / TICKS), f"{top * at / TICKS:,.0f}") for at in range(TICKS + 1)),
    )


def _band(low: float, high: float) -> tuple[float, float]:
    """Return left edge and width, a little wider than the interval so that one of a single size is visible."""
    return round(low - MARGIN, 1), round(high - low + 2 * MARGIN, 1)


def _steps(low: int, high: int) -> list[float]:
    """Return the sizes at which the curve is drawn, evenly spaced on the logarithmic axis."""
    return [low * (high / low) ** (at / CURVE_POINTS) for at in range(CURVE_POINTS + 1)]
