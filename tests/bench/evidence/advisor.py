"""How good the recommended pool sizes are, on simulated servers whose best size is known."""

import random
from math import sqrt

from benchmarks.experiments.advice import grid, recommendation
from benchmarks.experiments.advice.grid import Cell
from benchmarks.experiments.advice.scalability import ScalabilityLaw
from tests.bench.evidence.table import Line, share

SIZES = (1, 2, 4, 8, 16, 32)
EXPECTED = 32
SCALE = 10
MINUTES = (1, 3, 5, 30)
TIE_BAND = 0.03
# The standard deviation of a run of 5 s, as a share of its throughput; shorter runs have more.
NOISE, OF_SECONDS = 0.05, 5.0
NEAR, GOAL = 0.9, 0.95
SERVERS = {
    "peaks early": ScalabilityLaw(500, 0.05, 0.01),
    "peaks late": ScalabilityLaw(300, 0.02, 0.0005),
    "saturates": ScalabilityLaw(800, 0.2, 0.0),
    "contends": ScalabilityLaw(1000, 0.6, 0.002),
}
OTHER_CLIENTS = (0.75, 1.0, 0.9)  # Shares of the throughput with fewer clients, those expected, and more.


def recommended_sizes(trials: int, seed: int) -> list[Line]:
    """Return how often the recommended size gives 90 % of the best throughput, by server and minutes."""
    lines = []
    for name, law in SERVERS.items():
        for minutes in MINUTES:
            near = sum(is_near(law, minutes, seed + trial) for trial in range(trials))
            lines.append(Line(f"{name}, {minutes} min", share(near, trials), trials, GOAL))
    return lines


def is_near(law: ScalabilityLaw, minutes: int, seed: int) -> bool:
    """Whether the size that a sweep recommends gives 90 % of the best throughput."""
    found = recommendation.recommend(swept(law, minutes, seed), TIE_BAND, seed, resamples=1)
    assert found is not None
    return law.throughput(found.size) >= NEAR * max(map(law.throughput, SIZES))


def swept(law: ScalabilityLaw, minutes: int, seed: int) -> dict[int, list[float]]:
    """Return throughputs as the sweep collects them, by size, of the cells with the expected clients."""
    draw = random.Random(seed)
    fitted = grid.fitted(SIZES, EXPECTED, minutes, SCALE)
    factor = dict(zip(grid.client_counts(EXPECTED), OTHER_CLIENTS, strict=True))
    noise = NOISE * sqrt(OF_SECONDS / min(OF_SECONDS, fitted.duration_s))
    found: dict[Cell, list[float]] = {cell: [] for cell in fitted.cells}
    taking_part = list(fitted.cells)
    for at in range(fitted.rounds):
        names = {str(cell): cell for cell in taking_part}
        blocks = grid.blocks({cell: name for name, cell in names.items()}, EXPECTED, seed + at)
        for size, clients in (names[name] for block in blocks for name in block):
            found[size, clients].append(law.throughput(size) * factor[clients] * draw.gauss(1, noise))
        taking_part = grid.survivors({cell: found[cell] for cell in taking_part}, EXPECTED)
    return {size: values for (size, clients), values in found.items() if clients == EXPECTED}
