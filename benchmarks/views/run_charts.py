"""The charts of a run's page: headings, units, and the sources of their figures."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.chart_series import Course, few
from benchmarks.engines import engine
from benchmarks.models import ObservationKind, Run
from pools.models import PoolerKind
from pools.poolers import KINDS

ROWS_WITHOUT_SCRIPT = 30  # observations of each kind in the tables for browsers without JavaScript
POOL = "pool"


@dataclass(frozen=True)
class Chart:
    """A chart of static/js/run_series.js; `kind` is that of the rows it draws, empty for the samples.

    A chart of observations stays hidden until the script finds a value to draw.
    """

    key: str
    heading: str | Promise
    unit: str | Promise
    source: str | Promise
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Some observations of one kind, for browsers without JavaScript."""

    heading: str | Promise
    columns: list[str]
    rows: list[list[str]]


_OF_OBSERVATIONS = (
    Chart(
        "split",
        gettext_lazy("Queue and service"),
        gettext_lazy("ms per transaction"),
        gettext_lazy(
            "SHOW STATS on the pooler's console, polled during the load: clients' wait for a server connection, and "
            "their time with one; the rest of the latency is the network to the pooler and the load program itself"
        ),
        ObservationKind.POOLER,
    ),
    Chart(
        "pool",
        gettext_lazy("The pool"),
        gettext_lazy("connections"),
        gettext_lazy("SHOW POOLS on the pooler's console, polled during the load"),
        POOL,
    ),
    Chart(
        "maxwait",
        gettext_lazy("Longest wait"),
        gettext_lazy("ms"),
        gettext_lazy(
            "SHOW POOLS on the pooler's console, polled during the load: how long the first client in the queue has "
            "waited"
        ),
        POOL,
    ),
    Chart(
        "pooler",
        gettext_lazy("The whole pooler"),
        gettext_lazy("connections"),
        gettext_lazy("SHOW POOLS on the pooler's console, polled during the load: all its pools together"),
        ObservationKind.POOLER,
    ),
    Chart(
        "waits",
        gettext_lazy("Wait events"),
        gettext_lazy("sessions"),
        gettext_lazy(
            "pg_stat_activity once a second: sessions of the whole server that are not idle, by what they wait for; "
            "CPU: they wait for nothing"
        ),
        ObservationKind.SERVER,
    ),
    Chart(
        "states",
        gettext_lazy("Connections by state"),
        gettext_lazy("sessions"),
        gettext_lazy("pg_stat_activity once a second: sessions of the whole server"),
        ObservationKind.SERVER,
    ),
    Chart(
        "transactions",
        gettext_lazy("Transactions on the server"),
        gettext_lazy("per second"),
        gettext_lazy("pg_stat_database: all transactions of the loaded database, also those of other clients"),
        ObservationKind.SERVER,
    ),
    Chart(
        "blocks",
        gettext_lazy("Data blocks"),
        gettext_lazy("per second"),
        gettext_lazy(
            "pg_stat_database: blocks of the loaded database, found in shared buffers or read from the operating system"
        ),
        ObservationKind.SERVER,
    ),
    Chart(
        "io",
        gettext_lazy("WAL, files and checkpoints"),
        gettext_lazy("MB/s"),
        gettext_lazy(
            "pg_stat_wal, pg_stat_database (temporary files) and, since PostgreSQL 16, pg_stat_io; dotted vertical "
            "lines in all charts: checkpoints that began"
        ),
        ObservationKind.SERVER,
    ),
    Chart(
        "processors",
        gettext_lazy("Server's host: processors"),
        gettext_lazy("percent of all cores"),
        gettext_lazy("/proc/stat: the server runs on the generator's host"),
        ObservationKind.HOST,
    ),
    Chart(
        "memory",
        gettext_lazy("Server's host: memory"),
        gettext_lazy("GB"),
        gettext_lazy("/proc/meminfo"),
        ObservationKind.HOST,
    ),
    Chart(
        "disks",
        gettext_lazy("Server's host: disks"),
        gettext_lazy("MB/s"),
        gettext_lazy("/proc/diskstats, all disks together"),
        ObservationKind.HOST,
    ),
    Chart(
        "generator",
        gettext_lazy("Generator: processors"),
        gettext_lazy("percent of one core"),
        gettext_lazy(
            "/proc: the load's processes with all their threads, and their PgBouncer if it runs on the same host. "
            "Beyond 80 percent of what a program can use, the generator is the bottleneck"
        ),
        ObservationKind.GENERATOR,
    ),
)


def charts_of(run: Run, course: Course) -> list[Chart]:
    """Return the charts that a run has or, while it is running, may still get."""
    kinds = {"", *course["observations"]} if run.is_final else {"", *ObservationKind.values}
    if run.went_through_pool or course["pool"]["rows"]:
        kinds.add(POOL)
    else:
        kinds.discard(ObservationKind.POOLER)
    charts = (chart for chart in (*_of_samples(run), *_OF_OBSERVATIONS) if chart.kind in kinds)
    return [_as_counted(chart, run) for chart in charts] if course["uncounted"] else list(charts)


def _as_counted(chart: Chart, run: Run) -> Chart:
    """Name in the source of a pool's chart what its pooler does not count."""
    if chart.key != POOL:
        return chart
    observed = run.conditions.get("meanwhile", {})
    by = run.pool.pooler.get_kind_display() if run.pool else observed.get("uncounted_by", _("the pooler"))
    named = [KINDS[one] for one in PoolerKind if one.label == by]
    kind = next(iter(named or [one for one in KINDS.values() if one.uncounted]))
    if "cl_waiting" in kind.uncounted:
        text = _("%(command)s, polled during the load; not counted by %(pooler)s: who waits, and for how long")
    else:
        text = _("%(command)s, polled during the load; not counted by %(pooler)s: how long clients wait")
    return replace(chart, source=text % {"command": kind.connections_source, "pooler": by})


def tables_of(course: Course) -> Iterator[Table]:
    """Yield the observations as tables, one per kind."""
    for kind, table in course["observations"].items():
        names = [name.replace("_", " ") for name in table["columns"]]
        rows = few(table, ROWS_WITHOUT_SCRIPT, "t")
        yield Table(str(ObservationKind(kind).label), names, [[_text(cell) for cell in row] for row in rows])


def _of_samples(run: Run) -> tuple[Chart, Chart]:
    terms = engine(run.engine).terms
    source = _("interval reports of %(program)s")
    if run.options.get("percentiles"):
        latency_source = _("interval reports of %(program)s; p50 to p99 from its log")
    else:
        latency_source = source
    program = {"program": terms.program}
    return (
        Chart("tps", _("Throughput"), terms.units.per_second, source % program),
        Chart("latency", _("Latency"), _("ms, band: ± one standard deviation"), latency_source % program),
    )


def _text(cell: object) -> str:
    """Format a figure: sessions by name, numbers with thousands separators, a dash for None."""
    if cell is None:
        return "–"
    if isinstance(cell, dict):
        return ", ".join(f"{name} {count}" for name, count in cell.items()) or _("none")
    return f"{cell:,}" if isinstance(cell, int | float) else str(cell)
