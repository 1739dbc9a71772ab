"""Current activity of a server: its connections, transactions and waits, and the memory that they take.

The server aggregates: it returns counts, never one row per connection.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple, TypedDict, cast

import psycopg
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg.rows import dict_row

from pools.clusters import connect, literals, memory_budget, process_memory, topology
from pools.clusters.memory_budget import KB, MB, MemoryBudget
from pools.clusters.process_memory import ProcessMemory, Session, Why
from pools.clusters.topology import Place
from pools.errors import ClusterUnreachable
from pools.models import Cluster

Row = dict[str, Any]  # psycopg knows no columns: they get their types where a row is read
Cursor = psycopg.Cursor[Row]

NAMES_SHOWN = 8
TRANSACTIONS_SHOWN = 10
WAITS_SHOWN = 15
PROCESSES_MEASURED = 25  # each makes the kernel walk the process's page tables
STATEMENT_TIMEOUT_MS = 5_000
# Measured of 90 sessions each (Pss_Anon, PostgreSQL 15.18): 1.4 MB after a first query, 17.4 MB after one row of every
# view of information_schema, 35.5 MB where those were compiled just in time. A published run had 4.8 MB.
IDLE_LOW, IDLE_HIGH = 1 * MB, 18 * MB
REASONS = {
    Why.ELSEWHERE: gettext_lazy("The server does not run on the panel's host, or its processes are hidden from it."),
    Why.FORBIDDEN: gettext_lazy(
        "The server runs on the panel's host, but the panel's account may not read the memory of its processes: "
        "run the panel as the server's account, or give it CAP_SYS_PTRACE."
    ),
    Why.NONE_IDLE: gettext_lazy("No session is idle now."),
    Why.HIDDEN: gettext_lazy("The panel's role can't see which sessions are idle: grant it pg_monitor."),
    None: "",
}
STATES = (
    "active",
    "idle in transaction",
    "idle in transaction (aborted)",
    "idle",
    "fastpath function call",
    "disabled",
)
HIDDEN = "hidden"

# A role without pg_read_all_stats sees other sessions with an empty backend_type; clients have a role and a database.
CLIENTS = """
    SELECT datname::text AS database, usename::text AS role, coalesce(application_name, '') AS application,
           coalesce(state, 'hidden') AS state, state_change, pid
      FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL AND datid IS NOT NULL
       AND coalesce(backend_type, 'client backend') = 'client backend'
"""
CONNECTIONS = f"""
    WITH clients AS MATERIALIZED ({CLIENTS}),
    tall AS (
        SELECT 'database' AS dimension, database AS name, state FROM clients
        UNION ALL SELECT 'role', role, state FROM clients
        UNION ALL SELECT 'application', application, state FROM clients
    ),
    ranked AS (
        SELECT dimension, name, count(*) OVER (PARTITION BY dimension) AS names,
               row_number() OVER (PARTITION BY dimension ORDER BY count(*) DESC, name) AS place
          FROM tall GROUP BY dimension, name
    )
    SELECT dimension, least(place, %(shown)s + 1) AS place, CASE WHEN place <= %(shown)s THEN name END AS name,
           greatest(0, max(names) - %(shown)s) AS others, state, count(*) AS connections
      FROM tall JOIN ranked USING (dimension, name) GROUP BY 1, 2, 3, 5 ORDER BY 1, 2
"""  # noqa: S608 (constants only)
TOTALS = f"""
    SELECT state, count(*) AS connections,
           extract(epoch FROM clock_timestamp() - min(state_change))::float AS longest_s
      FROM ({CLIENTS}) clients GROUP BY state
"""  # noqa: S608 (constants only)
TRANSACTIONS = """
    SELECT pid, datname::text AS database, usename::text AS role, application_name AS application,
           host(client_addr) AS client, state,
           extract(epoch FROM clock_timestamp() - xact_start)::float AS transaction_s,
           extract(epoch FROM clock_timestamp() - state_change)::float AS in_state_s,
           wait_event_type, wait_event,
           CASE WHEN query NOT ILIKE '%%password%%' THEN left(query, 200) END AS query
      FROM pg_stat_activity
     WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
     ORDER BY xact_start LIMIT %(shown)s
"""
WAITS = """
    SELECT coalesce(wait_event_type, '') AS type, coalesce(wait_event, '') AS event, count(*) AS sessions
      FROM pg_stat_activity
     WHERE state NOT IN ('idle', 'disabled') AND pid <> pg_backend_pid()
       AND backend_type IN ('client backend', 'parallel worker')
     GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT %(shown)s
"""
IDLE_PIDS = f"""
    SELECT pid FROM ({CLIENTS}) clients WHERE state = 'idle' ORDER BY random() LIMIT %(shown)s
"""  # noqa: S608 (constants only)
SELF = """
    SELECT pg_backend_pid() AS pid, session_user::text AS user, current_database()::text AS database,
           inet_client_port() AS client_port,
           current_setting('is_superuser')::bool OR pg_has_role('pg_read_all_stats', 'MEMBER') AS sees_all
"""
SETTINGS = """
    SELECT name, setting::bigint * CASE unit WHEN '8kB' THEN 8192 WHEN 'kB' THEN 1024 WHEN 'MB' THEN 1048576 ELSE 1 END
           AS value
      FROM pg_settings
     WHERE name IN ('max_connections', 'work_mem', 'shared_buffers', 'temp_buffers', 'maintenance_work_mem')
"""
OWN_SETTINGS = """
    SELECT datname::text AS database, rolname::text AS role, words AS setting
      FROM pg_db_role_setting
      LEFT JOIN pg_database ON pg_database.oid = setdatabase LEFT JOIN pg_roles ON pg_roles.oid = setrole,
           unnest(setconfig) words
     WHERE words ~ '^(work_mem|temp_buffers|maintenance_work_mem)=' ORDER BY 1, 2, 3 LIMIT 20
"""


@dataclass(frozen=True)
class Part:
    """The connections of one state in a bar; `x` and `width` in percent of the longest bar of its chart."""

    state: str
    connections: int
    x: float
    width: float


@dataclass(frozen=True)
class Bar:
    """The connections of one database, role or application; `others`: how many further names it sums up."""

    name: str
    connections: int
    parts: tuple[Part, ...]
    others: int = 0


@dataclass(frozen=True)
class StateTotal:
    """The connections in one state, and for how many seconds the longest has been in it (None: hidden)."""

    state: str
    connections: int
    longest_s: float | None


class Range(NamedTuple):
    """Bytes, from the lowest to the highest that it may be."""

    low: int
    high: int


@dataclass(frozen=True)
class IdleMemory:
    """Memory of the idle connections, in bytes each: measured, or else an estimated range."""

    connections: int
    measured: ProcessMemory | None
    why_not: Why | None

    @property
    def basis(self) -> str:
        """The source of the figures, as a sentence."""
        if self.measured is None:
            return self._estimated
        counted = {"processes": self.measured.processes, "connections": self.connections}
        if self.measured.counts_shared:
            return (
                _(
                    "Measured: the mean memory (with a share of the shared buffers) of %(processes)s of "
                    "%(connections)s idle sessions (/proc/PID/smaps_rollup on this host)."
                )
                % counted
            )
        return (
            _(
                "Measured: the mean own memory of %(processes)s of %(connections)s idle sessions "
                "(/proc/PID/smaps_rollup on this host)."
            )
            % counted
        )

    @property
    def _estimated(self) -> str:
        estimated = _(
            "Estimated, not measured: on PostgreSQL 15 a session took 1 MB after its first query and 18 MB after a "
            "query of every catalog view; just-in-time compilation adds about 20 MB."
        )
        return f"{REASONS[self.why_not]} {estimated}".lstrip()

    @property
    def each(self) -> Range:
        """The memory of one connection."""
        return Range(self.measured.own, self.measured.own) if self.measured else Range(IDLE_LOW, IDLE_HIGH)

    @property
    def total(self) -> Range:
        """The bytes that all idle sessions hold together, as a range."""
        return Range(*(size * self.connections for size in self.each))


class Transaction(TypedDict):
    """An open transaction; `query` without the literals that `text` has, for admins alone."""

    pid: int
    database: str
    role: str
    application: str
    client: str | None
    state: str
    transaction_s: float
    in_state_s: float | None
    wait_event_type: str | None
    wait_event: str | None
    query: str
    text: str


class Wait(TypedDict):
    """An event that sessions that are not idle wait for, and their number."""

    type: str
    event: str
    sessions: int


class OwnSetting(TypedDict):
    """A memory setting, `name=value`, of a database, of a role, or of a role in a database."""

    database: str | None
    role: str | None
    setting: str


class BarRow(TypedDict):
    """The connections in one state of one database, role or application (`dimension`); `name` is None for others."""

    dimension: str
    place: int
    name: str | None
    others: int
    state: str
    connections: int


@dataclass(frozen=True)
class Insights:
    """The activity of one server at one moment; `own_settings` are memory settings of single databases and roles."""

    place: Place
    taken_at: datetime
    sees_all: bool
    states: tuple[StateTotal, ...]
    by_database: tuple[Bar, ...]
    by_role: tuple[Bar, ...]
    by_application: tuple[Bar, ...]
    transactions: list[Transaction]
    waits: list[Wait]
    idle: IdleMemory
    memory: MemoryBudget
    own_settings: list[OwnSetting]

    @property
    def connections(self) -> int:
        """All client connections but the panel's own."""
        return sum(total.connections for total in self.states)


def of_cluster(cluster: Cluster) -> Insights:
    """Query the activity of the cluster's primary. Raises `ClusterUnreachable`."""
    return of_place(topology.primary(cluster))


def of_place(place: Place) -> Insights:
    """Query the activity of one server of a cluster. Raises `ClusterUnreachable`."""
    try:
        with connect.connect(place.cluster, at=place.address) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            with connection.cursor(row_factory=dict_row) as cursor:
                return _query(place, cursor)
    except psycopg.Error as error:
        words = " ".join(str(error).split())
        raise ClusterUnreachable(_("logged in, but the query failed: %(words)s") % {"words": words}) from error


def own_session(cursor: Cursor) -> tuple[Session, bool]:
    """Return the cursor's session, and whether its role may see the activity of other sessions."""
    own = cursor.execute(SELF).fetchone() or {}
    sees_all = bool(own.pop("sees_all"))
    return Session(**own), sees_all


def _query(place: Place, cursor: Cursor) -> Insights:
    session, sees_all = own_session(cursor)
    states = _states(cursor.execute(TOTALS).fetchall())
    bars = _bars(cast(list[BarRow], cursor.execute(CONNECTIONS, {"shown": NAMES_SHOWN}).fetchall()))
    return Insights(
        place=place,
        taken_at=timezone.now(),
        sees_all=sees_all,
        states=states,
        by_database=bars.get("database", ()),
        by_role=bars.get("role", ()),
        by_application=bars.get("application", ()),
        transactions=[transaction(row) for row in cursor.execute(TRANSACTIONS, {"shown": TRANSACTIONS_SHOWN})],
        waits=cast(list[Wait], cursor.execute(WAITS, {"shown": WAITS_SHOWN}).fetchall()),
        idle=_idle(cursor, session, states),
        memory=_memory(cursor, place.cluster, session),
        own_settings=cast(list[OwnSetting], cursor.execute(OWN_SETTINGS).fetchall()),
    )


def transaction(row: Row) -> Transaction:
    """Return an open transaction of its row, whose query is None where it mentions a password."""
    query = row["query"]
    if query is None:
        query = text = _("(not shown: it mentions a password)")
    else:
        query, text = literals.without(query), query
    return cast(Transaction, {**row, "query": query, "text": text})


def _states(rows: Iterable[Row]) -> tuple[StateTotal, ...]:
    return tuple(sorted((StateTotal(**row) for row in rows), key=lambda total: _order(total.state)))


def _bars(rows: list[BarRow]) -> dict[str, tuple[Bar, ...]]:
    """Build the bars of each dimension, scaled by its longest."""
    bars = {}
    for dimension, of_it in groupby(rows, key=lambda row: str(row["dimension"])):
        grouped = [list(of_name) for _, of_name in groupby(of_it, key=lambda row: row["place"])]
        longest = max(sum(row["connections"] for row in of_name) for of_name in grouped)
        bars[dimension] = tuple(_bar(of_name, longest) for of_name in grouped)
    return bars


def _bar(rows: list[BarRow], longest: int) -> Bar:
    parts, x = [], 0.0
    for row in sorted(rows, key=lambda row: _order(row["state"])):
        width = 100 * row["connections"] / longest
        parts.append(Part(row["state"], row["connections"], round(x, 2), round(width, 2)))
        x += width
    name, total = rows[0]["name"], sum(row["connections"] for row in rows)
    return Bar(name or "", total, tuple(parts), rows[0]["others"] if name is None else 0)


def _order(state: str) -> int:
    return STATES.index(state) if state in STATES else len(STATES)


def _idle(cursor: Cursor, session: Session, states: Iterable[StateTotal]) -> IdleMemory:
    idle = sum(total.connections for total in states if total.state == "idle")
    if not idle and any(total.state == HIDDEN for total in states):
        return IdleMemory(0, None, Why.HIDDEN)
    pids = [row["pid"] for row in cursor.execute(IDLE_PIDS, {"shown": PROCESSES_MEASURED}).fetchall()]
    measured = process_memory.measure(session, pids)
    return IdleMemory(idle, measured, None) if isinstance(measured, ProcessMemory) else IdleMemory(idle, None, measured)


def _memory(cursor: Cursor, cluster: Cluster, session: Session) -> MemoryBudget:
    settings = memory_budget.Settings(**{row["name"]: row["value"] for row in cursor.execute(SETTINGS).fetchall()})
    if cluster.memory_mb:
        return MemoryBudget(settings, cluster.memory_mb * KB * KB, _("as stated for the cluster"))
    if process_memory.is_here(session) and (total := process_memory.memory_of_host()):
        return MemoryBudget(settings, total, _("read from this host, where the server runs"))
    return MemoryBudget(settings, None)
