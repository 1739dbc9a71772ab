"""Observes the server once a second by one statement: waits, states of sessions, and counters."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from benchmarks.models import ObservationKind
from benchmarks.runs.observers import probes, ticker
from benchmarks.runs.observers.base import LoadContext, ObservedFigures
from pools.clusters import connect, session_deadline

log = logging.getLogger(__name__)

RECONNECT_AFTER_S = 5.0  # pause before the next login after the server closed the session
WAITS_KEPT = 12  # wait events kept of an observation; the rest are summed up
REST = "others"
RATES = (
    "commits",
    "rollbacks",
    "blocks_read",
    "blocks_hit",
    "temp_files",
    "temp_bytes",
    "wal_bytes",
    "read_bytes",
    "written_bytes",
)
COUNTS = ("checkpoints_timed", "checkpoints_requested")
DONE = ("checkpoints_work", "checkpoints_done")  # One of these grows with each checkpoint that is not skipped.
Row = Mapping[str, Any]


@contextmanager
def watching(context: LoadContext) -> Iterator[None]:
    """Put observations of the server into the events; none where no session could be opened before the load."""
    if context.probe.session is None:
        yield
        return
    server = _Server(context, context.probe.session)
    try:
        with ticker.every_second("the server", server.observe, server.disconnect):
            yield
    finally:
        server.close()


class _Server:
    """The server between two observations, over one session that lasts as long as the load."""

    def __init__(self, context: LoadContext, session: connect.Connection) -> None:
        self.context = context
        self.session: connect.Connection | None = session
        self.rest_until = 0.0
        self.before: Row | None = None

    def observe(self) -> None:
        """Put what happened since the last observation; nothing while the server does not answer."""
        if (found := self._query_server()) is None:
            return
        at, row = found
        hidden = {"hidden": self.context.probe.hidden} if self.before is None and self.context.probe.hidden else {}
        self.context.put(ObservedFigures(ObservationKind.SERVER, at, figures(self.before, row) | hidden))
        self.before = row

    def disconnect(self) -> None:
        """Cut the connection to a server that does not answer."""
        if self.session:
            session_deadline.shut_down(self.session)

    def close(self) -> None:
        if self.session:
            self.session.close()

    def _query_server(self) -> tuple[float, Row] | None:
        session = self._connected()
        if session is None:
            return None
        began = time.monotonic()
        try:
            with session.cursor(row_factory=dict_row) as cursor:
                words = statement(session.info.server_version)
                row = cursor.execute(words, {"database": self.context.run.database}, prepare=True).fetchone()
        except psycopg.Error as error:
            log.warning("run %s: its server can't be observed: %s", self.context.run.pk, error)
            self.rest_until = time.monotonic() + RECONNECT_AFTER_S
            return None
        return ((began + time.monotonic()) / 2, row) if row else None

    def _connected(self) -> connect.Connection | None:
        """Return the session, a new one where the server hung up; None during the pause after a failure."""
        if time.monotonic() < self.rest_until:
            return None
        if self.session is None or self.session.closed:
            self.session = probes.log_in(self.context.run)
            self.rest_until = 0.0 if self.session else time.monotonic() + RECONNECT_AFTER_S
        return self.session


def figures(before: Row | None, now: Row) -> dict[str, object]:
    """Return `waits` and `states` as sessions by name; with an earlier row also rates per second and checkpoints.

    A rate is None where a counter shrank: statistics were reset, or the server restarted. A checkpoint that the server
    skips, since nothing was written after the last one, is counted by it but not here.
    """
    observed: dict[str, object] = {"waits": _largest(now["waits"]), "states": dict(now["states"])}
    if before is None or (elapsed_s := now["at_s"] - before["at_s"]) <= 0:
        return observed
    for name in filter(now.__contains__, RATES):
        grown = _increase(before, now, name)
        observed[f"{name}_per_s"] = None if grown is None else round(grown / elapsed_s, 1)
    done = any(_increase(before, now, name) for name in DONE)
    return observed | {name: int(_increase(before, now, name) or 0) if done else 0 for name in COUNTS}


def _increase(before: Row, now: Row, name: str) -> float | None:
    first, last = before.get(name), now.get(name)
    if first is None or last is None or last < first:
        return None
    return float(last - first)


def _largest(waits: Mapping[str, int]) -> dict[str, int]:
    """Return the waits with most sessions, and the sum of the others."""
    ordered = sorted(waits.items(), key=lambda wait: (-wait[1], wait[0]))
    other_sessions = sum(sessions for _, sessions in ordered[WAITS_KEPT:])
    return dict(ordered[:WAITS_KEPT]) | ({REST: other_sessions} if other_sessions else {})


# The sessions of the whole server, since it is one server's connections, locks and disks that they share; a role
# without pg_read_all_stats sees others with an empty backend_type and state. The observers' own sessions are left out.
_SESSIONS: LiteralString = """
    sessions AS MATERIALIZED (
        SELECT state, wait_event_type, wait_event
          FROM pg_stat_activity
         WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL AND datid IS NOT NULL
           AND coalesce(backend_type, 'client backend') IN ('client backend', 'parallel worker')
           AND coalesce(application_name, '') NOT LIKE 'pooldeck-watch%%'
    ),
    waits AS (
        SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS wait, count(*) AS sessions
          FROM sessions WHERE state NOT IN ('idle', 'disabled') GROUP BY 1
    ),
    states AS (
        SELECT coalesce(state, 'hidden') AS state, count(*) AS sessions FROM sessions GROUP BY 1
    )"""
_OF_ALL: LiteralString = """
        extract(epoch FROM clock_timestamp())::float8 AS at_s,
        (SELECT coalesce(jsonb_object_agg(wait, sessions), '{}') FROM waits) AS waits,
        (SELECT coalesce(jsonb_object_agg(state, sessions), '{}') FROM states) AS states,
        xact_commit AS commits, xact_rollback AS rollbacks, blks_read AS blocks_read, blks_hit AS blocks_hit,
        temp_files, temp_bytes"""
# The third column grows only with checkpoints that wrote something; the first two count skipped ones as well.
_CHECKPOINTS: LiteralString = """
        (SELECT checkpoints_timed FROM pg_stat_bgwriter) AS checkpoints_timed,
        (SELECT checkpoints_req FROM pg_stat_bgwriter) AS checkpoints_requested,
        (SELECT buffers_checkpoint + checkpoint_write_time + checkpoint_sync_time
           FROM pg_stat_bgwriter)::float8 AS checkpoints_work"""
_CHECKPOINTS_17: LiteralString = """
        (SELECT num_timed FROM pg_stat_checkpointer) AS checkpoints_timed,
        (SELECT num_requested FROM pg_stat_checkpointer) AS checkpoints_requested,
        (SELECT buffers_written + write_time + sync_time FROM pg_stat_checkpointer)::float8 AS checkpoints_work"""
_DONE_18: LiteralString = "(SELECT num_done FROM pg_stat_checkpointer) AS checkpoints_done"
_WAL: LiteralString = """
        CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_wal_lsn() - '0/0'::pg_lsn END::float8 AS wal_bytes"""
_WAL_14: LiteralString = "(SELECT wal_bytes FROM pg_stat_wal)::float8 AS wal_bytes"
_IO_16: LiteralString = """
        (SELECT sum(reads * op_bytes) FROM pg_stat_io)::float8 AS read_bytes,
        (SELECT sum(writes * op_bytes) FROM pg_stat_io)::float8 AS written_bytes"""
# WAL has rows of its own there since 18, and is counted already
_IO_18: LiteralString = """
        (SELECT sum(read_bytes) FROM pg_stat_io WHERE object <> 'wal')::float8 AS read_bytes,
        (SELECT sum(write_bytes) FROM pg_stat_io WHERE object <> 'wal')::float8 AS written_bytes"""


def statement(version: int) -> LiteralString:
    """Return the statement for a server of that `server_version_num`; its parameter is the loaded database's name.

    It returns one row: sessions by wait (`type:event`, or `CPU` where a session waits for nothing) and by state, and
    counters: those of pg_stat_database for that database, all others for the whole server.
    """
    columns = [
        _OF_ALL,
        _CHECKPOINTS_17 if version >= 170_000 else _CHECKPOINTS,
        _WAL_14 if version >= 140_000 else _WAL,
    ]
    if version >= 160_000:
        columns.append(_IO_18 if version >= 180_000 else _IO_16)
    if version >= 180_000:
        columns.append(_DONE_18)
    names = ", ".join(columns)
    return f"WITH {_SESSIONS} SELECT {names} FROM pg_stat_database WHERE datname = %(database)s"  # noqa: S608 (constants)
