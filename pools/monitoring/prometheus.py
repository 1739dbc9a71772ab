"""Prometheus metrics of pools, under pgbouncer_exporter's names so that its dashboards and alerts keep working.

Names, labels and help texts' meaning follow prometheus-community/pgbouncer_exporter, collector.go; the label
`pooler` is added, because one panel serves many.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from pools.models import Pooler
from pools.monitoring.sampler import ConsoleSnapshot

Row = Mapping[str, object]
MICRO = 1e-6


@dataclass(frozen=True)
class Column:
    """A column of a SHOW command, by each name that a release gives it, and the metric made of it."""

    names: tuple[str, ...]
    metric: str
    help: str
    factor: float = 1.0


def _gauge(column: str, metric: str, text: str) -> Column:
    return Column((column,), metric, text)


POOL_LABELS = ("database", "user")
POOLS = (
    _gauge("cl_active", "client_active_connections", "Clients linked to a server connection, or idle"),
    _gauge("cl_active_cancel_req", "client_active_cancel_connections", "Clients whose cancel request was forwarded"),
    _gauge("cl_waiting", "client_waiting_connections", "Clients waiting for a server connection"),
    _gauge("cl_waiting_cancel_req", "client_waiting_cancel_connections", "Clients whose cancel request waits"),
    _gauge("sv_active", "server_active_connections", "Servers linked to a client"),
    _gauge("sv_active_cancel", "server_active_cancel_connections", "Servers forwarding a cancel request"),
    _gauge("sv_being_canceled", "server_being_canceled_connections", "Servers waiting for cancel requests to end"),
    _gauge("sv_idle", "server_idle_connections", "Servers ready for a client"),
    _gauge("sv_used", "server_used_connections", "Servers idle for longer than server_check_delay"),
    _gauge("sv_tested", "server_testing_connections", "Servers running a reset or check query"),
    _gauge("sv_login", "server_login_connections", "Servers logging in"),
    _gauge("maxwait", "client_maxwait_seconds", "How long the first client in the queue has waited"),
)
STATS = (
    Column(("total_query_count",), "queries_pooled", "Queries pooled"),
    Column(("total_query_time",), "queries_duration_seconds", "Time in queries", MICRO),
    Column(("total_received",), "received_bytes", "Bytes received"),
    Column(("total_sent",), "sent_bytes", "Bytes sent"),
    Column(("total_wait_time",), "client_wait_seconds", "Time clients waited for a server", MICRO),
    Column(("total_xact_count",), "sql_transactions_pooled", "Transactions pooled"),
    Column(("total_xact_time",), "server_in_transaction_seconds", "Time in transactions", MICRO),
    Column(("total_client_parse_count",), "client_parses", "Parse messages from clients"),
    Column(("total_server_parse_count",), "server_parses", "Parse messages to servers"),
    Column(("total_bind_count",), "binds", "Bind messages"),
)
DATABASE_LABELS = ("name", "host", "port", "database", "force_user", "pool_mode")
DATABASES = (
    _gauge("pool_size", "pool_size", "The most server connections of a pool"),
    Column(("reserve_pool", "reserve_pool_size"), "reserve_pool", "The most additional server connections"),
    _gauge("max_connections", "max_connections", "The most server connections of all its pools"),
    _gauge("current_connections", "current_connections", "Server connections now"),
    _gauge("paused", "paused", "1 while it is paused"),
    _gauge("disabled", "disabled", "1 while it is disabled"),
)


def families(snapshots: Iterable[tuple[Pooler, ConsoleSnapshot]]) -> Iterator[Metric]:
    """Yield every metric of every pooler; one that did not answer has `pgbouncer_up 0` and nothing else."""
    listed = list(snapshots)
    up = GaugeMetricFamily("pgbouncer_up", "1 when the console answered", labels=["pooler"])
    version = GaugeMetricFamily("pgbouncer_version_info", "The program's release", labels=["pooler", "version"])
    for pooler, snapshot in listed:
        up.add_metric([pooler.name], 0 if snapshot.error else 1)
        if not snapshot.error:
            version.add_metric([pooler.name, pooler.server_version], 1)
    yield up
    yield version
    answered = [(pooler, snapshot) for pooler, snapshot in listed if not snapshot.error]
    yield from _of_word(answered, "pools", POOLS, POOL_LABELS, "pgbouncer_pools", GaugeMetricFamily)
    yield from _of_word(answered, "stats", STATS, ("database",), "pgbouncer_stats", CounterMetricFamily)
    yield from _of_word(answered, "databases", DATABASES, DATABASE_LABELS, "pgbouncer_databases", GaugeMetricFamily)


def _of_word(
    snapshots: list[tuple[Pooler, ConsoleSnapshot]],
    word: str,
    columns: tuple[Column, ...],
    labels: tuple[str, ...],
    prefix: str,
    make: type[GaugeMetricFamily] | type[CounterMetricFamily],
) -> Iterator[Metric]:
    """Yield one family for each column, over all poolers; columns without a value are left out."""
    for column in columns:
        family = make(f"{prefix}_{column.metric}", column.help, labels=["pooler", *labels])
        for pooler, snapshot in snapshots:
            for row in snapshot.rows.get(word, []):
                if (value := _value(row, column)) is not None:
                    family.add_metric([pooler.name, *(_label(row.get(name)) for name in labels)], value)
        if family.samples:
            yield family


def _value(row: Row, column: Column) -> float | None:
    raw = next((row[name] for name in column.names if row.get(name) is not None), None)
    return None if raw is None else float(str(raw)) * column.factor


def _label(value: object) -> str:
    return "" if value is None else str(value)


def by_pooler(
    poolers: Iterable[Pooler], snapshots: Mapping[UUID, ConsoleSnapshot]
) -> list[tuple[Pooler, ConsoleSnapshot]]:
    """Return the poolers with their snapshots, in order of name."""
    return [
        (pooler, snapshots[pooler.pk]) for pooler in sorted(poolers, key=lambda one: one.name) if pooler.pk in snapshots
    ]
