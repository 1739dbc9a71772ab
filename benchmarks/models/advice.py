"""The keys of `Experiment.advice`: the question of a sweep, and its recommendation as the API answers it."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class ExistingTables(TypedDict):
    """Database and role of the tables to load where they exist already."""

    database: str
    user: str


class RecordedQueries(TypedDict):
    """The recorded mix of a pool beside its scripts; `left_out` is the number of statements by reason."""

    user: str
    database: str
    since: str
    queries: int
    share: float
    left_out: dict[str, int]


class CellFigures(TypedDict):
    """Means over the valid runs of a pool size with a number of clients."""

    size: int
    clients: int
    tps: float
    latency_avg_ms: float | None
    runs: int


class BestSize(TypedDict):
    """The size with the highest mean throughput."""

    size: int
    tps: float


class FittedLaw(TypedDict):
    """The Universal Scalability Law fitted to the throughputs."""

    rate: float
    contention: float
    coherency: float


class RecommendedSize(TypedDict):
    """A recommended size; those of before client counts were swept have no `clients` and no `cells`."""

    size: int
    reserve: int
    interval: list[int]
    knee: int
    best: BestSize
    law: FittedLaw | None
    clients: NotRequired[int]
    cells: NotRequired[list[CellFigures]]
    left_of_budget: int | None
    not_seen: list[str]


class AdviceRecord(TypedDict, total=False):
    """The request, progress and result of a sweep; empty for an experiment that was started as such.

    `rounds`, `clients` and `cells` (pool size, clients) belong to sweeps of sizes, `admitted` to "direct or pooled?".
    `entry`, `external` (its endpoint) and `most` (connections that one login can keep busy) belong to sweeps through an
    entry.
    """

    question: str
    pool: str | None
    minutes: int
    round: int
    rounds: int
    clients: int
    cells: Sequence[Sequence[int]]
    admitted: int | None
    recorded: RecordedQueries
    existing: ExistingTables
    entry: str
    external: str
    most: int
    recommendation: RecommendedSize
