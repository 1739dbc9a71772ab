"""How soon a change of nightly figures is found, and how often noise alone is told, with noise that was recorded.

The noise is that of `recorded_noise.csv`: equal runs of three seconds, directly and through a PgBouncer in turn, by
`python -m tests.bench.aa --series 100 --seconds 3`. A night's run of a minute is the mean of twenty consecutive ones.
Nights are drawn from it in blocks of consecutive runs (a moving block bootstrap), so that slow and quick spells of the
machine stay together. They stand for nights as far as the noise of minutes does: what changes from day to day, such as
other guests of the host, is in no recording of an hour.
"""

import csv
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median, stdev

from benchmarks.analysis.change_points import change_points

RECORDED = Path(__file__).with_name("recorded_noise.csv")
BLOCK = 20  # runs that stay together, a minute of measuring
HISTORY, YEAR = 90, 365  # nights
SEEN = 100  # The latest nights; what lies before them decides nothing about the last one.
EFFECT = 0.95
WITHIN = 5  # nights
SAME_WITHIN = 5  # as benchmarks.schedules.regressions
# name of a night's figure → consecutive runs whose mean is one of its runs, and of how many such it is the median
FIGURES = {"3 s": (1, 1), "3 s, median of 5": (1, 5), "1 min": (20, 1), "1 min, median of 3": (20, 3)}


@dataclass(frozen=True)
class Row:
    """The outcome for one kind of figure: shares of nights' spread, alarms a year, and changes found in time."""

    name: str
    spread: float
    alarms_a_year: float
    found: float
    years: int
    changes: int

    def __str__(self) -> str:
        return (
            f"{self.name:<34} {self.spread:6.1%} {self.alarms_a_year:8.2f} ({self.years} years) "
            f"{self.found:6.0%} ({self.changes} changes)"
        )


def recorded(file: Path = RECORDED) -> dict[str, list[float]]:
    """Return the figures of the series as shares of their mean: directly, pooled, and the ratio of each pair."""
    with file.open(newline="") as rows:
        runs = [(row["path"], float(row["tps"])) for row in csv.DictReader(rows)]
    direct = [tps for path, tps in runs if path == "direct"]
    pooled = [tps for path, tps in runs if path == "pooled"]
    ratios = [one / other for one, other in zip(pooled, direct, strict=False)]
    return {"direct": _shares(direct), "pooled": _shares(pooled), "ratio of a pair": _shares(ratios)}


def _shares(values: Sequence[float]) -> list[float]:
    mean = fmean(values)
    return [value / mean for value in values]


def resampled(series: Sequence[float], draw: random.Random) -> Iterator[float]:
    """Yield figures without an end, in blocks of consecutive ones of the series, which counts as a circle."""
    while True:
        start = draw.randrange(len(series))
        yield from (series[(start + at) % len(series)] for at in range(BLOCK))


def nights(series: Sequence[float], figure: tuple[int, int], count: int, draw: random.Random) -> list[float]:
    """Return the figures of so many nights, each as one of `FIGURES`."""
    runs, (length, repeat) = resampled(series, draw), figure
    return [median(fmean(next(runs) for _ in range(length)) for _ in range(repeat)) for _ in range(count)]


def falls(values: Sequence[float]) -> list[int]:
    """Return where the level fell, as places in the values."""
    seen = values[-SEEN:]
    return [len(values) - len(seen) + one.at for one in change_points(seen) if one.ratio < 1]


def alarms(values: Sequence[float], first: int) -> int:
    """Return how often a fall is told from this night on, as `benchmarks.schedules.regressions` tells it."""
    told: list[int] = []
    known = falls(values[:first])
    for night in range(first, len(values)):
        found = falls(values[: night + 1])
        new = [at for at in found if not _is_beside(at, known) and not _is_beside(at, told)]
        told += new
        known = found
    return len(told)


def _is_beside(at: int, others: Sequence[int]) -> bool:
    return any(abs(at - other) <= SAME_WITHIN for other in others)


def is_found(values: Sequence[float], since: int) -> bool:
    """Test whether a fall that begins with a night is found by the fifth night of it."""
    return any(abs(at - since) < WITHIN for night in range(WITHIN) for at in falls(values[: since + night + 1]))


def simulate(name: str, series: Sequence[float], figure: str, years: int, changes: int, seed: int) -> Row:
    """Return the outcome with one of `FIGURES` as the figure of a night."""
    draw, shape = random.Random(seed), FIGURES[figure]
    told = sum(alarms(nights(series, shape, HISTORY + YEAR, draw), HISTORY) for _ in range(years))
    found = 0
    for _ in range(changes):
        values = nights(series, shape, HISTORY + WITHIN, draw)
        found += is_found([*values[:HISTORY], *(EFFECT * value for value in values[HISTORY:])], HISTORY)
    spread = stdev(nights(series, shape, 2000, draw))
    return Row(f"{name}, {figure}", spread, told / years, found / changes, years, changes)


def show(trials: int, seed: int) -> None:
    """Print the table; `trials` are the changes of each row, a twentieth of it the years."""
    print("\nNights with recorded noise: a change of 5 % found within five nights, alarms a year of noise alone")
    print(f"{'':<34} {'spread':>6} {'alarms':>8} {'':9} {'found':>6}")
    for name, series in recorded().items():
        for figure in FIGURES:
            print(simulate(name, series, figure, max(1, trials // 20), trials, seed), flush=True)
