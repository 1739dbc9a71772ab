"""Prometheus metrics of pools, under pgbouncer_exporter's names so that its dashboards and alerts keep working.

Names, labels and help texts' meaning follow prometheus-community/pgbouncer_exporter, collector.go; the label
`pooler` is added, because one panel serves many.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pools.models import Pooler

if TYPE_CHECKING:  # the sampler keeps what this module writes
    from pools.monitoring.sampler import ConsoleSnapshot

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Row = Mapping[str, object]
MICRO = 1e-6
SEPARATOR = b"\x00"  # no console's text has it
ZSTD_LEVEL = 1  # lines that repeat themselves become a fiftieth


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

LISTS = (
    _gauge("databases", "databases", "Databases"),
    _gauge("users", "users", "Users"),
    _gauge("pools", "pools", "Pools"),
    _gauge("free_clients", "free_clients", "Clients that left, whose memory is kept"),
    _gauge("used_clients", "used_clients", "Clients"),
    _gauge("login_clients", "login_clients", "Clients that are logging in"),
    _gauge("free_servers", "free_servers", "Servers that left, whose memory is kept"),
    _gauge("used_servers", "used_servers", "Servers"),
    _gauge("dns_names", "cached_dns_names", "DNS names in the cache"),
    _gauge("dns_zones", "cached_dns_zones", "DNS zones in the cache"),
    _gauge("dns_queries", "in_flight_dns_queries", "DNS queries without an answer yet"),
)
CONFIG = (
    _gauge("max_client_conn", "config_max_client_connections", "The most clients"),
    _gauge("max_user_connections", "config_max_user_connections", "The most server connections of a user; 0: any"),
)


@dataclass(frozen=True)
class Family:
    """A metric of all poolers: the column of a SHOW command that it is made of, its labels, and its type."""

    word: str
    labels: tuple[str, ...]
    column: Column
    name: str
    type: str

    @property
    def head(self) -> str:
        """The lines above its values."""
        return _head(self.name, self.column.help, self.type)


def _families(word: str, columns: tuple[Column, ...], labels: tuple[str, ...], type: str) -> list[Family]:
    ending = "_total" if type == "counter" else ""
    return [Family(word, labels, one, f"pgbouncer_{word}_{one.metric}{ending}", type) for one in columns]


def _of_process(word: str, columns: tuple[Column, ...]) -> list[Family]:
    """Return gauges of a whole process, which pgbouncer_exporter names without the word of SHOW."""
    return [Family(word, (), one, f"pgbouncer_{one.metric}", "gauge") for one in columns]


FAMILIES = (
    *_families("pools", POOLS, POOL_LABELS, "gauge"),
    *_families("stats", STATS, ("database",), "counter"),
    *_families("databases", DATABASES, DATABASE_LABELS, "gauge"),
    *_of_process("counts", LISTS),
    *_of_process("limits", CONFIG),
)

LABELED = tuple(dict.fromkeys((family.word, family.labels) for family in FAMILIES))  # rows that share their labels


@dataclass(frozen=True)
class Answer:
    """The last answer of a pooler's console at a time (Unix, in s): the lines of each of `FAMILIES`, or an error.

    It is written once, where a console is polled, and read by each scrape: for ten thousand pools there are some
    280,000 lines of 33 MB, whose figures would take seconds to be read and written anew. They stay the bytes that a
    scrape is answered with: to decode and encode them again took as long as all else.
    """

    at: float
    error: str
    lines: tuple[bytes, ...]

    def packed(self) -> bytes:
        """Return what `unpacked` reads."""
        text = SEPARATOR.join([repr(self.at).encode(), self.error.encode(), *self.lines])
        return zstd.compress(text, ZSTD_LEVEL)

    @classmethod
    def unpacked(cls, packed: bytes) -> "Answer | None":
        """Return the answer that was packed, None if another release of the panel did, which has other metrics."""
        at, error, *lines = zstd.decompress(packed).split(SEPARATOR)
        return cls(float(at), error.decode(), tuple(lines)) if len(lines) == len(FAMILIES) else None


Known = tuple[Pooler, Answer | None]  # a pooler and its last answer


def answer_of(pooler: Pooler, snapshot: "ConsoleSnapshot") -> Answer:
    """Return what a scrape needs of a snapshot; one with an error has no lines."""
    rows = {} if snapshot.error else snapshot.rows
    own = f'{{pooler="{_label(pooler.name)}"'
    labeled = {
        (word, labels): [(row, own + _further_labels(labels, row)) for row in rows.get(word, [])]
        for word, labels in LABELED
    }
    lines = tuple(_lines(family, labeled[family.word, family.labels]) for family in FAMILIES)
    return Answer(snapshot.at, snapshot.error, lines)


def exposition(answers: Iterable[Known], now: float) -> Iterator[bytes]:
    """Yield the metrics of all poolers in Prometheus's text format.

    One whose console did not answer, or of which nothing is known, has `pgbouncer_up 0` and no figures.
    """
    listed = sorted(answers, key=lambda one: one[0].name)
    good = [(pooler, answer) for pooler, answer in listed if answer and not answer.error]
    yield from (text.encode() for text in _of_consoles(listed, good, now))
    for at, family in enumerate(FAMILIES):
        lines = [answer.lines[at] for _pooler, answer in good]
        if any(lines):
            yield family.head.encode()
            yield from lines


def _of_consoles(listed: Sequence[Known], good: Sequence[Known], now: float) -> Iterator[str]:
    """Yield whether each console answered, its program's release, and how old its answer is."""
    up = {pooler.pk for pooler, _answer in good}
    yield _head("pgbouncer_up", "1 when the console answered", "gauge")
    yield from (f"pgbouncer_up{_of(pooler)} {1.0 if pooler.pk in up else 0.0}\n" for pooler, _answer in listed)
    yield _head("pgbouncer_version_info", "The program's release", "gauge")
    for pooler, _answer in good:
        labels = _labels(("pooler", "version"), (pooler.name, pooler.server_version))
        yield f"pgbouncer_version_info{labels} 1.0\n"
    yield _head("pooldeck_console_age_seconds", "How old the console's last answer is", "gauge")
    for pooler, answer in listed:
        if answer:
            yield f"pooldeck_console_age_seconds{_of(pooler)} {max(0.0, now - answer.at):.3f}\n"


def _lines(family: Family, labeled: Sequence[tuple[Row, str]]) -> bytes:
    """Return a line for each row; rows without a value of this column are left out."""
    name, factor, names = family.name, family.column.factor, family.column.names
    if len(names) == 1:
        raws = [(labels, row.get(names[0])) for row, labels in labeled]
    else:
        raws = [(labels, _of_first(names, row)) for row, labels in labeled]
    lines = [f"{name}{labels} {float(raw) * factor}\n" for labels, raw in raws if raw is not None]  # type: ignore[arg-type]  # a number
    return "".join(lines).encode()


def _head(name: str, text: str, type: str) -> str:
    return f"# HELP {name} {text}\n# TYPE {name} {type}\n"


def _of(pooler: Pooler) -> str:
    return _labels(("pooler",), (pooler.name,))


def _labels(names: Iterable[str], values: Iterable[object]) -> str:
    pairs = zip(names, map(_label, values), strict=True)
    return "{" + ",".join(f'{name}="{value}"' for name, value in pairs) + "}"


def _further_labels(names: Iterable[str], row: Row) -> str:
    """Return the end of labels, with these of a row."""
    return "".join([f',{name}="{_label(row.get(name))}"' for name in names]) + "}"


def _of_first(names: Iterable[str], row: Row) -> object:
    """Return the value of the first of these columns that has one."""
    return next((row[name] for name in names if row.get(name) is not None), None)


def _label(value: object) -> str:
    """Return a label's value with what the format escapes."""
    text = "" if value is None else str(value)
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
