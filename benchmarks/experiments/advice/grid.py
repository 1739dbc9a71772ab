"""Which cells, pool size by number of clients, a sweep measures in which round, and how long each run lasts; pure.

The row of the expected clients decides the recommendation and is measured twice in each round; the rows of fewer and of
more clients show how the best size moves with the load, and are measured once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, pairwise
from math import ceil, log2
from statistics import fmean

from benchmarks.experiments import order

Cell = tuple[int, int]  # pool size, clients

ROUNDS, BLOCKS = 3, 2
KEPT_IN_ROUND = 0.5  # the better half of the cells goes on (successive halving)
FEWEST = 3
ABOVE_COUNTS = 2.5  # the gap above the largest size counts so many times one between two sizes
LEAST_S, MOST_S = 2, 120
WANTED_S = 3  # a shorter load says little: cells are given up before
LOGIN_S = 0.01  # one client needs so long to log in by SCRAM through a pooler on a small host
LOGINS_SHARE = 0.10  # logins that take more of the duration leave too little of it for the load
SET_UP_S = 1.5  # a run takes so long beside its load
# Each run warms up first, since `resources` takes the server connections of all pools: each size starts equally warm.
WARM_UP_S = 1
FRAME_S, FRAME_S_OF_SCALE = 15, 0.2  # making and removing database, tables and pools
ENDING_S = 5  # removing them takes so many of these seconds


@dataclass(frozen=True)
class Grid:
    """The cells of the first round, how many rounds there are, and the seconds of a run."""

    cells: tuple[Cell, ...]
    rounds: int
    duration_s: int


def fitted(sizes: Sequence[int], expected: int, minutes: int, scale: int) -> Grid:
    """Return the most that fits the minutes: rounds are given up first, then the other clients, then sizes.

    A run of many clients has to last longer, or its logins take too much of it and it is not valid.
    """
    for cells, rounds in _candidate_grids(sizes, expected):
        runs = runs_of(cells, expected, rounds)
        logins_s = LOGIN_S * max(clients for _, clients in cells)
        if _available_s(minutes, scale, runs) >= max(WANTED_S, logins_s / LOGINS_SHARE):
            break
    return Grid(tuple(cells), rounds, duration_s(minutes, scale, runs))


def fitted_in_one_row(sizes: Sequence[int], expected: int, minutes: int) -> Grid:
    """Return the same of the expected clients alone, whose tables exist: rounds are given up, and no size."""
    cells = [(size, expected) for size in sizes]
    for rounds in range(ROUNDS, 0, -1):
        runs = runs_of(cells, expected, rounds)
        if _available_s(minutes, 0, runs) >= WANTED_S:
            break
    return Grid(tuple(cells), rounds, duration_s(minutes, 0, runs))


def duration_s(minutes: int, scale: int, runs: int) -> int:
    """Return the duration of each of this many runs after its warm-up, in seconds; 2 s to 2 minutes."""
    return int(max(LEAST_S, min(MOST_S, _available_s(minutes, scale, runs))))


def _available_s(minutes: int, scale: int, runs: int) -> float:
    return (minutes * 60 - FRAME_S - FRAME_S_OF_SCALE * scale) / runs - SET_UP_S - WARM_UP_S


def _candidate_grids(sizes: Sequence[int], expected: int) -> Iterable[tuple[list[Cell], int]]:
    """Yield cells and rounds, the most telling first."""
    rows = client_counts(expected)
    for counts in (rows, [clients for clients in rows if clients <= expected], [expected]):
        cells = [(size, clients) for clients in counts for size in sizes if size <= clients]
        yield from ((cells, rounds) for rounds in range(ROUNDS, 0, -1))
    while True:
        yield [(size, expected) for size in sizes], 1
        if len(sizes) <= FEWEST:
            return
        sizes = [*sizes[:-1:2], sizes[-1]]


def within_budget(sizes: Collection[int], free: int, own: int | None = None) -> list[int]:
    """Return the sizes whose pools fit the free connections together, as evenly spread as that allows.

    The smallest and `own`, the size that the pool has, take part where they can; empty where no two pools fit.
    """
    listed = sorted(sizes)
    chosen = chain.from_iterable(combinations(listed, count) for count in range(2, len(listed) + 1))
    fitting = [one for one in chosen if sum(one) <= free and one[0] == listed[0]]

    ranked = sorted((own in listed and own not in one, _widest_gap(one, listed[-1]), -len(one), one) for one in fitting)
    return list(ranked[0][-1]) if ranked else []


def _widest_gap(sizes: Sequence[int], most: int) -> float:
    """Return the widest gap as a power of two; what lies above the largest counts more, as no size there is seen."""
    inner = max(log2(high / low) for low, high in pairwise(sizes))
    return max(inner, ABOVE_COUNTS * log2(most / sizes[-1]))


def client_counts(expected: int) -> list[int]:
    """Return the numbers of clients of the rows: a quarter of those expected, those, and twice as many."""
    return sorted({max(1, expected // 4), expected, expected * 2})


def runs_of(cells: Collection[Cell], expected: int, rounds: int) -> int:
    """Count the runs of all rounds."""
    own = sum(clients == expected for _, clients in cells)
    others, total = len(cells) - own, 0
    for _ in range(rounds):
        total += BLOCKS * own + others
        own, others = _kept(own), ceil(others * KEPT_IN_ROUND)
    return total


def blocks(keys: Mapping[Cell, str], expected: int, seed: int) -> list[list[str]]:
    """Return a round's blocks of arm keys: all cells in the first, in the others those of the expected clients."""
    own = {key for (_, clients), key in keys.items() if clients == expected}
    first, *others = order.blocks(list(keys.values()), BLOCKS, seed)
    return [first, *([key for key in block if key in own] for block in others)]


def survivors(measured: Mapping[Cell, Sequence[float]], expected: int) -> list[Cell]:
    """Return the cells of the next round: the better half, by share of the best throughput with as many clients.

    Of the expected clients three at least go on; they are ranked among themselves.
    """
    means = {cell: fmean(values) if values else 0.0 for cell, values in measured.items()}
    best: dict[int, float] = {}
    for (_, clients), mean in means.items():
        best[clients] = max(mean, best.get(clients, 0.0))
    ranked = sorted(means, key=lambda cell: -means[cell] / (best[cell[1]] or 1))
    own = [cell for cell in ranked if cell[1] == expected]
    others = [cell for cell in ranked if cell[1] != expected]
    return sorted([*own[: _kept(len(own))], *others[: ceil(len(others) * KEPT_IN_ROUND)]])


def _kept(count: int) -> int:
    return min(count, max(FEWEST, ceil(count * KEPT_IN_ROUND)))
