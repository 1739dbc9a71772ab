"""The charts of a run's page: what each is called, its unit, and where its numbers come from."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.analysis.chart_series import few
from benchmarks.engines import engine
from benchmarks.models import ObservationKind, Run
from pools.models import PoolerKind
from pools.poolers import KINDS

ROWS_WITHOUT_SCRIPT = 30  # of each kind of look, in the tables for browsers without JavaScript
POOL = "pool"
CONSOLE = "on the pooler's console, read while the load was on"


@dataclass(frozen=True)
class Chart:
    """A chart of static/js/run_series.js; `kind` is that of the rows it draws, empty for the samples'.

    It is hidden until the script finds a value to draw, but for those of the samples.
    """

    key: str
    heading: str
    unit: str
    source: str
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Some of the looks of one kind, for who has no charts."""

    heading: str
    columns: list[str]
    rows: list[list[str]]


_OF_OBSERVATIONS = (
    Chart(
        "split",
        "Queue and service",
        "ms of a transaction",
        f"SHOW STATS {CONSOLE}: clients' wait for a server connection, and their time with one; "
        "what latency has beyond both is the way to the pooler and the load program's own",
        ObservationKind.POOLER,
    ),
    Chart("pool", "The pool", "connections", f"SHOW POOLS {CONSOLE}", POOL),
    Chart(
        "maxwait", "Longest wait", "ms", f"SHOW POOLS {CONSOLE}: since when the first client in the queue waits", POOL
    ),
    Chart(
        "pooler",
        "The whole pooler",
        "connections",
        f"SHOW POOLS {CONSOLE}: all its pools together",
        ObservationKind.POOLER,
    ),
    Chart(
        "waits",
        "Wait events",
        "sessions",
        "pg_stat_activity once a second: sessions of the whole server that are not idle, by what they wait for; "
        "CPU: they wait for nothing",
        ObservationKind.SERVER,
    ),
    Chart(
        "states",
        "Connections by state",
        "sessions",
        "pg_stat_activity once a second: sessions of the whole server",
        ObservationKind.SERVER,
    ),
    Chart(
        "transactions",
        "Transactions on the server",
        "per second",
        "pg_stat_database: those of the loaded database, whoever asked for them",
        ObservationKind.SERVER,
    ),
    Chart(
        "blocks",
        "Data blocks",
        "per second",
        "pg_stat_database: blocks of the loaded database, found in shared buffers or read from the operating system",
        ObservationKind.SERVER,
    ),
    Chart(
        "io",
        "WAL, files and checkpoints",
        "MB/s",
        "pg_stat_wal, pg_stat_database (temporary files) and, since PostgreSQL 16, pg_stat_io; "
        "dotted uprights in all charts: checkpoints that began",
        ObservationKind.SERVER,
    ),
    Chart(
        "processors",
        "Server's host: processors",
        "percent of all cores",
        "/proc/stat: the server runs on the generator's host",
        ObservationKind.HOST,
    ),
    Chart("memory", "Server's host: memory", "GB", "/proc/meminfo", ObservationKind.HOST),
    Chart("disks", "Server's host: disks", "MB/s", "/proc/diskstats, all disks together", ObservationKind.HOST),
    Chart(
        "generator",
        "Generator: processors",
        "percent of one core",
        "/proc: the load's processes with all their threads, and the PgBouncer they go through where it runs here. "
        "Beyond 80 % of what a program can use it is the limit itself",
        ObservationKind.GENERATOR,
    ),
)


def charts_of(run: Run, course: dict[str, Any]) -> list[Chart]:
    """The charts that a run has or, while it goes on, may come to have."""
    kinds = {"", *course["observations"]} if run.is_final else {"", *ObservationKind.values}
    if run.went_through_pool or course["pool"]["rows"]:
        kinds.add(POOL)
    else:
        kinds.discard(ObservationKind.POOLER)
    charts = (chart for chart in (*_of_samples(run), *_OF_OBSERVATIONS) if chart.kind in kinds)
    return [_as_counted(chart, run) for chart in charts] if course["uncounted"] else list(charts)


def _as_counted(chart: Chart, run: Run) -> Chart:
    """The chart of a pool says what its pooler does not count."""
    if chart.key != POOL:
        return chart
    observed = run.conditions.get("meanwhile", {})
    by = run.pool.pooler.get_kind_display() if run.pool else observed.get("uncounted_by", "the pooler")
    kind = next((KINDS[one] for one in PoolerKind if one.label == by), KINDS[PoolerKind.PGPOOL])
    lacks = "who waits, and for how long," if "cl_waiting" in kind.uncounted else "how long clients wait"
    source = f"{kind.connections_source}, read while the load was on; {lacks} is not counted by {by}"
    return replace(chart, source=source)


def tables_of(course: dict[str, Any]) -> Iterator[Table]:
    """The looks as tables, one for each kind there are."""
    for kind, table in course["observations"].items():
        names = [name.replace("_", " ") for name in table["columns"]]
        rows = few(table, ROWS_WITHOUT_SCRIPT, "t")
        yield Table(str(ObservationKind(kind).label), names, [[_text(cell) for cell in row] for row in rows])


def _of_samples(run: Run) -> tuple[Chart, Chart]:
    words = engine(run.engine).terms
    source = f"{words.program}'s {words.interval}s"
    logged = "; p50 to p99 from its log" if run.options.get("percentiles") else ""
    return (
        Chart("tps", "Throughput", f"{words.unit}s per second", source),
        Chart("latency", "Latency", "ms, band: ± one standard deviation", source + logged),
    )


def _text(cell: Any) -> str:
    """A figure for people: sessions by name, numbers with separators."""
    if cell is None:
        return "–"
    if isinstance(cell, dict):
        return ", ".join(f"{name} {count}" for name, count in cell.items()) or "none"
    return f"{cell:,}" if isinstance(cell, int | float) else str(cell)
