"""Sessions of a server that concern one pool: what holds its connections, and what blocks those, live."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import psycopg
from django.utils.translation import gettext as _
from psycopg.rows import DictRow, dict_row

from pools.clusters import connect, literals
from pools.clusters.topology import Place
from pools.errors import ClusterUnreachable

STATEMENT_TIMEOUT_MS = 2_000
CONNECT_TIMEOUT_S = 2
LONGEST_STATEMENT = 500  # characters
PREPARED = 0  # stands for a prepared transaction in pg_blocking_pids
NO_PASSWORD = "query NOT ILIKE '%%password%%'"  # noqa: S105 (a condition: such a statement is not shown)
Cursor = psycopg.Cursor[DictRow]

# A role without pg_read_all_stats sees the other sessions without state and wait: those are asked for their blockers
# too, since pg_blocking_pids has no such limit. It takes the lock manager's locks, so nobody else is asked.
# `kept` names why the panel does not end a session: PostgreSQL's own rules for pg_terminate_backend, and the panel's.
COLUMNS = f"""
    pid, backend_start, datname::text AS database, usename::text AS role,
    coalesce(application_name, '') AS application, coalesce(host(client_addr), '') AS client, client_port,
    coalesce(state, '') AS state, coalesce(wait_event_type, '') AS wait_event_type,
    coalesce(wait_event, '') AS wait_event, coalesce(backend_type, '') AS backend_type,
    xact_start AS transaction_start, query_start AS statement_start,
    extract(epoch FROM clock_timestamp() - xact_start)::float8 AS transaction_s,
    extract(epoch FROM clock_timestamp() - query_start)::float8 AS statement_s,
    extract(epoch FROM clock_timestamp() - state_change)::float8 AS in_state_s,
    CASE WHEN {NO_PASSWORD} THEN left(query, %(longest)s) END AS statement,
    CASE WHEN wait_event_type = 'Lock' OR state IS NULL AND backend_type IS NULL
         THEN pg_blocking_pids(pid) ELSE '{{}}' END AS blocked_by,
    CASE WHEN backend_start IS NULL OR backend_type IS NULL THEN 'hidden'
         WHEN backend_type <> 'client backend' THEN 'no_client'
         WHEN usename = current_user AND application_name LIKE 'pooldeck%%' THEN 'own'
         WHEN current_setting('is_superuser')::bool THEN ''
         WHEN (SELECT rolsuper FROM pg_roles WHERE oid = usesysid) THEN 'superuser'
         WHEN pg_has_role(usesysid, 'USAGE') OR pg_has_role('pg_signal_backend', 'USAGE') THEN ''
         ELSE 'other_role' END AS kept
"""  # noqa: S608 (constants only)
SESSIONS = f"""
    WITH sessions AS MATERIALIZED (SELECT {COLUMNS} FROM pg_stat_activity WHERE pid <> pg_backend_pid())
    SELECT * FROM sessions
     WHERE pid = ANY(%(pids)s) OR database = %(database)s AND %(whole)s
        OR blocked_by <> '{{}}' OR pid IN (SELECT unnest(blocked_by) FROM sessions)
"""  # noqa: S608 (constants only)
CAPACITY = """
    SELECT count(*) FILTER (WHERE datid IS NOT NULL) AS connections,
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
           current_setting('is_superuser')::bool OR pg_has_role('pg_read_all_stats', 'MEMBER') AS sees_all,
           current_user::text AS role
      FROM pg_stat_activity
"""


class QueryFailed(ClusterUnreachable):
    """The server let the panel in, and a question failed."""


@dataclass(frozen=True)
class Session:
    """A session of the server as pg_stat_activity shows it; `pid` and `backend_start` identify it.

    `query` is the statement without its literals, `text` the whole one, for those who may read secrets. `state` is
    empty where the panel's role may not see it. `kept` names why the panel does not end it, empty where it may.
    """

    pid: int
    backend_start: datetime | None
    database: str | None
    role: str | None
    application: str
    client: str
    client_port: int | None
    state: str
    wait_event_type: str
    wait_event: str
    backend_type: str
    transaction_s: float | None
    statement_s: float | None
    in_state_s: float | None
    query: str
    text: str
    blocked_by: tuple[int, ...]
    kept: str = ""
    transaction_start: datetime | None = None
    statement_start: datetime | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether the panel's role may not see what it does."""
        return not self.state and not self.backend_type

    @property
    def is_of_client(self) -> bool:
        """Whether it serves a client, and is no autovacuum worker, no parallel worker and no WAL sender."""
        return self.backend_type in ("", "client backend")

    @property
    def is_in_transaction(self) -> bool:
        """Whether its transaction is open while no statement runs."""
        return self.state.startswith("idle in transaction")

    @property
    def started(self) -> str:
        """The start of its process in URLs, exact to the microsecond; empty where the panel's role may not see it."""
        return self.backend_start.isoformat() if self.backend_start else ""

    @property
    def may_end(self) -> bool:
        """Whether the panel may end it."""
        return not self.kept

    @property
    def runs(self) -> bool:
        """Whether a statement runs in it, so that there is something to cancel."""
        return self.state == "active"

    @property
    def description(self) -> str:
        """Name it in the words of pg_stat_activity."""
        params = {"pid": self.pid, "role": self.role, "application": self.application, "kind": self.backend_type}
        if not self.role:
            return _("process %(pid)s (%(kind)s)") % params if self.backend_type else _("process %(pid)s") % params
        if self.application:
            return _("process %(pid)s (role %(role)s, application %(application)s)") % params
        return _("process %(pid)s (role %(role)s)") % params


@dataclass(frozen=True)
class ServerSessions:
    """The sessions of a server that concern a pool, by pid; `connections` of `most` that it gives are taken."""

    by_pid: dict[int, Session]
    connections: int = 0
    most: int = 0
    sees_all: bool = True
    role: str = ""

    def blockers_of(self, session: Session) -> list[int]:
        """Return the pids at the ends of the ways from blocked to blocking; a circle ends where it closes."""
        ends: dict[int, None] = {}
        seen: set[int] = set()
        to_visit = list(session.blocked_by)
        while to_visit:
            pid = to_visit.pop(0)
            if pid in seen:
                continue
            seen.add(pid)
            further = self.by_pid[pid].blocked_by if pid in self.by_pid else ()
            if further:
                to_visit += further
            else:
                ends[pid] = None
        return list(ends) or sorted(seen)


def read(place: Place, pids: Collection[int], database: str, *, whole: bool) -> ServerSessions:
    """Read the sessions of these pids, all that are blocked and those that block them. Raises `ClusterUnreachable`.

    `whole`: also all those of the database.
    """
    params = {"pids": list(pids), "database": database, "whole": whole, "longest": LONGEST_STATEMENT}
    with asking(place) as cursor:
        sessions = [session_of(row) for row in cursor.execute(SESSIONS, params)]
        capacity = cursor.execute(CAPACITY).fetchone() or {}
    return ServerSessions({one.pid: one for one in sessions}, **capacity)


@contextmanager
def asking(place: Place, database: str | None = None) -> Iterator[Cursor]:
    """Log in to ask short questions; raises `ClusterUnreachable`, also where one of them fails."""
    try:
        with connect.connect(
            place.cluster, at=place.address, database=database, connect_timeout=CONNECT_TIMEOUT_S
        ) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            with connection.cursor(row_factory=dict_row) as cursor:
                yield cursor
    except psycopg.Error as error:
        words = " ".join(str(error).split())
        raise QueryFailed(_("logged in, but the query failed: %(words)s") % {"words": words}) from None


def session_of(row: dict[str, Any]) -> Session:
    """Return the session of its row, whose statement is None where it mentions a password."""
    statement = cast(str | None, row.pop("statement"))
    if statement is None:
        query = text = _("(not shown: it mentions a password)") if row["state"] else ""
    else:
        query, text = literals.without(statement), statement
    return Session(**row | {"blocked_by": tuple(row["blocked_by"])}, query=query, text=text)


def in_order(sessions: Iterable[Session]) -> list[Session]:
    """Return them with the oldest transaction first."""
    return sorted(sessions, key=lambda one: (-(one.transaction_s or 0.0), one.pid))
