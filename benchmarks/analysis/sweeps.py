"""Throughput and latency over the number of clients, where compared arms differ in that alone; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log2
from statistics import median
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis import arms, comparison
from benchmarks.analysis.arms import Arm, Comparison, Outcome
from benchmarks.analysis.confidence_intervals import TIE_BAND
from benchmarks.analysis.round_steps import round_step
from benchmarks.analysis.subjects import Subject, key_of, values_of
from benchmarks.models import metrics
from benchmarks.models.options import RunOptions

WIDTH, HEIGHT = 480, 230
LEFT, RIGHT, TOP, BASE = 62, 468, 12, 186
TICKS = 5  # at most, at round values
APART = 26  # between two labels of the axis of clients
HEADROOM = 1.05
COLORS = 8  # further series reuse them
# Threads follow the clients: pgbench takes no more of them.
OF_THE_CLIENTS = frozenset({"clients", "concurrency", "threads"})


@dataclass(frozen=True)
class Step:
    """The runs with one number of clients: the medians of the valid ones, None where none is valid."""

    clients: int
    arm: Arm
    tps: float | None
    latency_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True)
class Series:
    """The steps of one target under one load, by their clients; `color` is from 1 on."""

    label: str
    color: int
    steps: tuple[Step, ...]

    @property
    def conclusion(self) -> str:
        """Where its throughput is highest, and whether fewer clients come close to it."""
        measured = [step for step in self.steps if step.tps]
        return _conclusion(self.label, measured) if len(measured) > 1 else ""


@dataclass(frozen=True)
class Dot:
    """A figure of one run; `words` are its tooltip."""

    x: float
    y: float
    words: str
    counts: bool  # its run is valid


@dataclass(frozen=True)
class Line:
    """A figure of a series: the line through the medians of valid runs, and a dot for each run that has ended."""

    color: int
    points: str
    dots: tuple[Dot, ...]
    is_dashed: bool = False


@dataclass(frozen=True)
class Chart:
    """The shapes that the template writes as SVG; ticks are (position, label)."""

    lines: tuple[Line, ...]
    client_ticks: tuple[tuple[float, str], ...]
    value_ticks: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    base: int = BASE
    middle: int = (LEFT + RIGHT) // 2


@dataclass(frozen=True)
class Sweep:
    """The series of a comparison with their two charts."""

    series: tuple[Series, ...]
    tps: Chart
    latency: Chart

    @property
    def has_p95(self) -> bool:
        """True if the latency at the 95th percentile is known of any step."""
        return any(line.is_dashed for line in self.latency.lines)

    @property
    def has_doubtful(self) -> bool:
        """True if a run is drawn that is not valid."""
        return any(not dot.counts for line in self.tps.lines for dot in line.dots)


def of(found: Comparison) -> Sweep | None:
    """Return the sweep that the arms are; None unless each load was run with several numbers of clients."""
    by_load: dict[str, list[Arm]] = {}
    for arm in found.arms:
        by_load.setdefault(key_of(_without_clients(arm.runs[0])), []).append(arm)
    steps = [_steps(one) for one in by_load.values()]
    if not all(_is_swept(one) for one in steps):
        return None
    labels = arms.labels([_without_clients(one[0].runs[0]) for one in by_load.values()])
    named = enumerate(zip(labels, steps, strict=True))
    series = tuple(Series(label, at % COLORS + 1, tuple(one)) for at, (label, one) in named)
    return Sweep(series, _chart(series, "tps"), _chart(series, "latency_avg_ms", "latency_p95_ms"))


def _is_swept(steps: Sequence[Step]) -> bool:
    """Tell apart steps of a sweep from arms that differ in threads alone, or that have no clients."""
    clients = {step.clients for step in steps}
    return len(clients) == len(steps) > 1 and 0 not in clients


def _without_clients(run: Subject) -> Subject:
    kept = {name: value for name, value in run.options.items() if name not in OF_THE_CLIENTS}
    return replace(run, options=cast("RunOptions", kept))


def _steps(load: Sequence[Arm]) -> list[Step]:
    steps = [
        Step(
            int(comparison.clients_asked(arm.runs[0].options) or 0),
            arm,
            _median(arm, "tps"),
            _median(arm, "latency_avg_ms"),
            _median(arm, "latency_p95_ms"),
        )
        for arm in load
    ]
    return sorted(steps, key=lambda step: step.clients)


def _median(arm: Arm, key: str) -> float | None:
    values = values_of(arm.valid, key)
    return median(values) if values else None


def _conclusion(label: str, measured: Sequence[Step]) -> str:
    best = max(measured, key=lambda step: step.tps or 0)
    enough = next(step for step in measured if (step.tps or 0) >= (1 - TIE_BAND) * (best.tps or 0))
    text = ngettext(
        "Throughput of %(series)s is highest with %(clients)s client: %(tps)s tps, average latency %(latency)s ms.",
        "Throughput of %(series)s is highest with %(clients)s clients: %(tps)s tps, average latency %(latency)s ms.",
        best.clients,
    )
    sentences = [text % {"series": label, **_words(best)}]
    if enough is not best:
        text = ngettext(
            "%(clients)s client already reaches %(share)s %% of that, with an average latency of %(latency)s ms.",
            "%(clients)s clients already reach %(share)s %% of that, with an average latency of %(latency)s ms.",
            enough.clients,
        )
        share = f"{100 * (enough.tps or 0) / (best.tps or 1):.0f}"
        sentences.append(text % {"share": share, **_words(enough)})
    elif best is measured[-1]:
        sentences.append(_("It is still rising there: the most that it can do may need more clients than were tried."))
    return " ".join(sentences)


def _words(step: Step) -> dict[str, str]:
    latency = "–" if step.latency_ms is None else f"{step.latency_ms:,.3g}"
    return {"clients": f"{step.clients:,}", "tps": f"{step.tps or 0:,.0f}", "latency": latency}


def _chart(series: Sequence[Series], key: str, dashed: str = "") -> Chart:
    """Return the chart of a figure, and of a second one as dashed lines, on a logarithmic axis of clients."""
    clients = sorted({step.clients for one in series for step in one.steps})
    keys = [key, dashed] if dashed else [key]
    runs = [run for one in series for step in one.steps for run in _ended(step)]
    top = HEADROOM * max((value for name in keys for value in values_of(runs, name)), default=1.0) or 1.0
    lines = tuple(
        _line(one, name, clients, top, is_dashed=name == dashed)
        for name in keys
        for one in series
        if any(values_of(_ended(step), name) for step in one.steps)
    )
    step = round_step(top, TICKS)
    ticks = [step * at for at in range(floor(top / step) + 1)]
    return Chart(lines, _client_ticks(clients), tuple((_y(value, top), f"{value:,.10g}") for value in ticks))


def _line(one: Series, key: str, clients: Sequence[int], top: float, *, is_dashed: bool) -> Line:
    unit = metrics.BY_KEY[key].unit
    medians = [(step.clients, value) for step in one.steps if (value := _median(step.arm, key)) is not None]
    dots = [
        Dot(_x(step.clients, clients), _y(value, top), _tooltip(one.label, step.clients, value, unit, run), run.counts)
        for step in one.steps
        for run in _ended(step)
        for value in values_of([run], key)
    ]
    points = " ".join(f"{_x(number, clients)},{_y(value, top)}" for number, value in medians)
    return Line(one.color, points, tuple(dots), is_dashed)


def _ended(step: Step) -> list[Subject]:
    return [run for run in step.arm.runs if run.outcome is not Outcome.NOT_ENDED]


def _tooltip(label: str, clients: int, value: float, unit: str, run: Subject) -> str:
    text = ngettext(
        "%(series)s, %(clients)s client: %(figure)s %(unit)s",
        "%(series)s, %(clients)s clients: %(figure)s %(unit)s",
        clients,
    )
    figure = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    words = text % {"series": label, "clients": f"{clients:,}", "figure": figure, "unit": unit}
    return words if run.counts else f"{words}; {run.words}"


def _client_ticks(clients: Sequence[int]) -> tuple[tuple[float, str], ...]:
    """Return a tick for each number of clients, without those whose labels would touch the one before."""
    ticks: list[tuple[float, str]] = []
    for number in clients:
        x = _x(number, clients)
        if not ticks or x - ticks[-1][0] >= APART:
            ticks.append((x, f"{number:,}"))
    return tuple(ticks)


def _x(number: int, clients: Sequence[int]) -> float:
    low, high = log2(clients[0]), log2(clients[-1])
    return round(LEFT + 14 + (RIGHT - LEFT - 28) * (log2(number) - low) / (high - low), 1)


def _y(value: float, top: float) -> float:
    return round(BASE - (BASE - TOP) * min(value, top) / top, 1)
