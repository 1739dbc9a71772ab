"""The charts of monitoring pages: what each shows, the same as a table, and as CSV."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _

from core.lib.figures import figure_or_dash
from pools.console import tables
from pools.models import Pooler
from pools.monitoring.history import Point
from pools.monitoring.rates import FIGURES
from pools.poolers import driver

Words = str | Promise
CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True)
class Tile:
    """One figure with its label, its unit, and the console column that it is read from."""

    name: str
    label: Words
    unit: str
    source: Words


@dataclass(frozen=True)
class Chart:
    """One chart: its name in the script, its texts, and its figures; the first two are compared with earlier days."""

    key: str
    heading: Words
    unit: Words
    source: Words
    figures: tuple[str, ...]

    @property
    def compared(self) -> tuple[str, ...]:
        return self.figures[:2]


@dataclass(frozen=True)
class Table:
    """A chart's figures: the titles of the columns after that of the time, and rows of a time and its cells."""

    chart: Chart
    titles: list[str]
    rows: list[tuple[datetime, list[str]]]


TILES = (
    Tile("cl_waiting", _("Clients waiting"), "", _("cl_waiting of SHOW POOLS: they wait for a server connection")),
    Tile("cl_active", _("Clients active"), "", _("cl_active of SHOW POOLS: linked to a server connection, or idle")),
    Tile("sv_active", _("Servers active"), "", _("sv_active of SHOW POOLS: server connections in use")),
    Tile("sv_idle", _("Servers idle"), "", _("sv_idle of SHOW POOLS: ready for a client")),
    Tile(
        "sv_used",
        _("Servers used"),
        "",
        _("sv_used of SHOW POOLS: idle for so long that they are tested before the next client"),
    ),
    Tile(
        "maxwait_ms",
        _("Longest wait"),
        "ms",
        _("maxwait of SHOW POOLS: how long the first client in the queue has waited"),
    ),
    Tile("queries_per_s", _("Queries"), "/s", _("growth of total_query_count in SHOW STATS")),
    Tile("transactions_per_s", _("Transactions"), "/s", _("growth of total_xact_count in SHOW STATS")),
    Tile("received_bytes_per_s", _("Traffic in"), "bytes/s", _("growth of total_received in SHOW STATS: from clients")),
    Tile("sent_bytes_per_s", _("Traffic out"), "bytes/s", _("growth of total_sent in SHOW STATS: to clients")),
    Tile(
        "query_ms",
        _("Average query"),
        "ms",
        _("total_query_time over total_query_count, including the wait for a server connection"),
    ),
    Tile("transaction_ms", _("Average transaction"), "ms", _("total_xact_time over total_xact_count")),
    Tile(
        "wait_ms",
        _("Average wait"),
        "ms",
        _("total_wait_time over total_xact_count: the wait of a transaction for a server connection"),
    ),
)
BY_NAME = {tile.name: tile for tile in TILES}
CHARTS = (
    Chart(
        "connections",
        _("Connections"),
        _("clients and servers"),
        "SHOW POOLS",
        ("cl_waiting", "cl_active", "sv_active", "sv_idle", "sv_used"),
    ),
    Chart(
        "rates",
        _("Throughput"),
        _("per second"),
        _("SHOW STATS, the growth of its counters"),
        ("queries_per_s", "transactions_per_s"),
    ),
    Chart(
        "times",
        _("Average times"),
        _("ms"),
        _("SHOW STATS; a query's time includes its wait for a server"),
        ("query_ms", "transaction_ms", "wait_ms"),
    ),
    Chart(
        "maxwait",
        _("Longest wait"),
        _("ms"),
        _("SHOW POOLS: how long the first client in the queue has waited"),
        ("maxwait_ms",),
    ),
    Chart(
        "bytes",
        _("Traffic"),
        _("bytes per second"),
        _("SHOW STATS: from clients, to clients"),
        ("received_bytes_per_s", "sent_bytes_per_s"),
    ),
)
SESSIONS = ("cl_active", "sv_active", "sv_idle")  # what a kind counts that does not count all
BY_KEY = {chart.key: chart.figures for chart in CHARTS} | {"sessions": SESSIONS}


def tiles_of(pooler: Pooler) -> Sequence[Tile]:
    """Return the figures that this kind of pooler counts, each with its source there."""
    sources = driver(pooler).figure_sources
    return [replace(tile, source=sources[tile.name]) for tile in TILES if tile.name in sources] if sources else TILES


def charts_of(pooler: Pooler) -> Sequence[Chart]:
    """Return the charts of what this kind of pooler counts."""
    kind = driver(pooler)
    if not kind.uncounted:
        return CHARTS
    return [replace(CHARTS[0], key="sessions", source=kind.connections_source, figures=SESSIONS)]


def table_of(chart: Chart, points: Sequence[Point]) -> Table:
    """Return the figures of each point, the latest first; of a step its average, and its maximum after a slash."""
    rows = [(point.time, [_cell(point, name) for name in chart.figures]) for point in reversed(points)]
    return Table(chart, list(_titles(chart)), rows)


def _cell(point: Point, name: str) -> str:
    average = figure_or_dash(point.average[name])
    return f"{average} / {figure_or_dash(point.maximum[name])}" if point.maximum else average


def _titles(chart: Chart) -> Iterator[str]:
    for tile in map(BY_NAME.__getitem__, chart.figures):
        yield f"{tile.label}, {tile.unit}" if tile.unit else str(tile.label)


def as_csv(name: str, key: str, points: Sequence[Point]) -> HttpResponse:
    """Return the figures of one chart as CSV, of all for an unknown one: each average, and the maximum of its step."""
    figures = BY_KEY.get(key, FIGURES)
    file_name = f"pooldeck-{slugify(name)}-{key if key in BY_KEY else 'all'}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file_name}"'}
    rows = [{"from": timezone.localtime(point.time).isoformat(), **_columns(point, figures)} for point in points]
    return HttpResponse(tables.as_csv(rows), content_type=CSV, headers=headers)


def _columns(point: Point, figures: Sequence[str]) -> dict[str, float | None]:
    pairs = ((name, point.average[name], point.maximum.get(name)) for name in figures)
    return {column: value for name, *both in pairs for column, value in zip((name, f"{name}_max"), both, strict=True)}
