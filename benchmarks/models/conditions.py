"""The keys of `Run.conditions`: what was done and measured before and around a load, as stored and as the API answers.

A key is absent where its step was not asked for, or where an earlier release did not have it.
"""

from typing import NotRequired, TypedDict


class Ping(TypedDict):
    """Round trips of `SELECT 1` between generator and endpoint."""

    count: int
    min_ms: float
    avg_ms: float
    max_ms: float
    connect_ms: float


class ProfileInForce(TypedDict):
    """The settings profile of a run; `before` is what ALTER SYSTEM had set (None: nothing), `left` what stayed."""

    name: str
    values: dict[str, str]
    before: dict[str, str | None]
    warnings: NotRequired[list[str]]
    left: NotRequired[list[str]]


class Idle(TypedDict, total=False):
    """The idle connections beside a load.

    `memory` is the server's: `measured`, `estimated` with its bounds, or `pooled`.
    """

    connections: int
    opened_in_s: float
    closed_by_others: int
    memory: str
    memory_bytes_each: int
    memory_bytes: int
    memory_low_bytes: int
    memory_high_bytes: int


class Vacuum(TypedDict):
    """The tables that were vacuumed before a load."""

    tables: list[str]
    seconds: float


class Checkpoint(TypedDict):
    """The checkpoint before a load."""

    seconds: float


class Service(TypedDict):
    """Faults of the service that an engine ran beside its load; `exit_code` is None where it went on."""

    refused: str
    exit_code: int | None


class WarmUp(TypedDict):
    """The warm-up, with its throughput, or with the message by which clients were refused."""

    seconds: float
    refused: NotRequired[str]
    tps: NotRequired[float]


class Start(TypedDict, total=False):
    """The times at which the program of a part was started, relative to the common start.

    The whole has `spread_ms` between its parts, and `late_ms` by generator.
    """

    clock_error_ms: float
    late_ms: float | dict[str, float]
    spread_ms: float


class TablesBefore(TypedDict):
    """The tables that existed before a preparation, and whether they were the panel's."""

    oids: list[int]
    ours: bool


class ObservedSummary(TypedDict, total=False):
    """Means and counts over the observations of a run; see `benchmarks.runs.observers.summary`."""

    queue_ms: float
    service_ms: float
    cpu_percent: float
    busy_percent: float
    pooler_cpu_percent: float
    service_cpu_percent: float
    host_cpu_percent: float
    others_percent: float
    steal_percent: float
    checkpoints_timed: int
    checkpoints_requested: int
    hidden: str
    uncounted_by: str
    server_here: bool
    only_contended: bool


class RunConditions(TypedDict, total=False):
    """The preparations and measurements before and around a load."""

    ping: Ping
    settings_profile: ProfileInForce
    idle: Idle
    vacuum: Vacuum
    checkpoint: Checkpoint
    service: Service
    warm_up: WarmUp
    start: Start
    tables_before: TablesBefore
    tables_made: list[int]  # oids of the tables that a preparation made anew
    meanwhile: ObservedSummary
