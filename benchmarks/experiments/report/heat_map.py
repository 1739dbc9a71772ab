"""Throughput by pool size and clients as rows of colored cells; pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks.experiments.advice.grid import Cell
from benchmarks.models.advice import CellFigures

# Lower limits of the colors but the palest, as shares of the best throughput with as many clients.
SHARES = (0.97, 0.9, 0.75, 0.5)
PALEST = 0


@dataclass(frozen=True)
class HeatCell:
    """A size with a number of clients: mean figures (tps, ms), and its color from 0, pale, to 4; None if unmeasured.

    `is_possible` is False of a pool with more connections than clients, which no sweep measures.
    """

    clients: int
    tps: float | None = None
    latency_ms: float | None = None
    color: int | None = None
    is_best: bool = False
    is_recommended: bool = False
    is_possible: bool = True


@dataclass(frozen=True)
class HeatMap:
    """Rows of (pool size, a cell for each number of clients); `expected` is the column of the recommendation."""

    clients: tuple[int, ...]
    expected: int
    rows: tuple[tuple[int, tuple[HeatCell, ...]], ...]

    @property
    def has_impossible(self) -> bool:
        """True if some pools have more connections than clients."""
        return any(not cell.is_possible for _, cells in self.rows for cell in cells)

    @property
    def has_gaps(self) -> bool:
        """True if cells that the sweep asks for have no figure."""
        return any(cell.is_possible and cell.tps is None for _, cells in self.rows for cell in cells)

    @property
    def legend(self) -> list[tuple[int, str]]:
        """The colors, the darkest first, with the share of the best that each begins at; below the last for 0."""
        named = [(len(SHARES) - at, f"≥ {share:.0%}") for at, share in enumerate(SHARES)]
        return [*named, (PALEST, f"< {SHARES[-1]:.0%}")]


def draw(measured: Sequence[CellFigures], planned: Collection[Cell], expected: int, recommended: int) -> HeatMap | None:
    """Return the map of a sweep; `measured` as the API's `cells`. None with fewer than two numbers of clients."""
    figures = {(one["size"], one["clients"]): one for one in measured}
    columns = sorted({clients for _, clients in planned})
    if len(columns) < 2:
        return None
    best = {
        at: max((one["tps"] for (_, clients), one in figures.items() if clients == at), default=0) for at in columns
    }

    def cell(size: int, clients: int) -> HeatCell:
        figure = figures.get((size, clients))
        if figure is None:
            return HeatCell(clients, is_possible=(size, clients) in planned)
        return HeatCell(
            clients,
            tps=figure["tps"],
            latency_ms=figure["latency_avg_ms"],
            color=_color(figure["tps"] / best[clients]),
            is_best=figure["tps"] == best[clients],
            is_recommended=(size, clients) == (recommended, expected),
        )

    sizes = sorted({size for size, _ in planned})
    rows = tuple((size, tuple(cell(size, clients) for clients in columns)) for size in sizes)
    return HeatMap(tuple(columns), expected, rows)


def _color(share: float) -> int:
    return sum(share >= least for least in SHARES)
