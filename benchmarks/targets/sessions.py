"""Sessions of a run on the server: their current statements, and their end when the program was stopped or lost."""

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from benchmarks.models import Run
from benchmarks.targets import resolve
from core.lib.crypto import SealBroken
from core.lib.errors import DomainError
from pools.clusters import connect
from pools.errors import PoolsError

log = logging.getLogger(__name__)

# A pooler gives its idle server connections to other clients, still under the last one's application_name: those are
# its own to keep. The text is compared whole; PostgreSQL cuts names at 63 characters and ours are shorter.
_TERMINATE = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE application_name = %s AND pid <> pg_backend_pid() AND (state <> 'idle' OR NOT %s)
"""

_AT_WORK = """
    SELECT query, extract(epoch FROM clock_timestamp() - query_start)::float, (pg_blocking_pids(pid))[1]
    FROM pg_stat_activity WHERE application_name = %s AND pid <> pg_backend_pid() AND state = 'active'
    ORDER BY query_start
"""

_BEGUN_SINCE = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name = %s AND pid <> pg_backend_pid()
      AND query_start > clock_timestamp() - make_interval(secs => %s)
"""


# COPY is one statement for all rows of a table; bytes come only while its client sends them.
_COPIED = """
    SELECT coalesce(sum(bytes_processed), 0)::bigint
    FROM pg_stat_progress_copy JOIN pg_stat_activity USING (pid) WHERE application_name = %s
"""
COPY_VIEW_SINCE = 140000  # pg_stat_progress_copy came with PostgreSQL 14
COPY_WATCHED_S = 1.0
ANSWERS_WITHIN_S = 5.0  # a pooler lets a query wait for minutes where all its server connections are taken


@dataclass(frozen=True)
class Work:
    """A running statement, for how long it has run, and the process id of the session that blocks it."""

    statement: str
    seconds: float
    blocked_by: int | None


def at_work(run: Run) -> list[Work] | None:
    """Return the running statements of this attempt, the longest first; None where the cluster can't be queried."""
    if run.cluster is None:
        return None
    try:
        with connect.connect(run.cluster, application_name="pooldeck-reaper") as connection:
            return [Work(*row) for row in connection.execute(_AT_WORK, (run.application_name,))]
    except (PoolsError, SealBroken, psycopg.Error) as error:
        log.warning("run %s: what its sessions are at could not be asked: %s", run.pk, error)
        return None


def goes_on(run: Run, within_s: float) -> bool:
    """Test whether the clients of this attempt's sessions are alive, as seen by its server.

    They are where they began a statement in the last `within_s` seconds, by the server's clock, or send rows of a COPY.
    The server is asked as the panel's admin, or through an external endpoint as the load's own role, which sees its own
    sessions. False where it can't be asked.
    """
    try:
        with _session(run) as connection, _given_up_after(connection, ANSWERS_WITHIN_S):
            begun = _number(connection, _BEGUN_SINCE, run.application_name, within_s)
            return bool(begun) or _copies(connection, run.application_name)
    except (DomainError, SealBroken, psycopg.Error) as error:
        log.warning("run %s: whether its load goes on could not be asked: %s", run.pk, error)
        return False


def _session(run: Run) -> connect.Connection:
    if run.cluster is not None:
        return connect.connect(run.cluster, application_name="pooldeck-reaper")
    return connect.connect_endpoint(resolve.endpoint_of(run), application_name="pooldeck-reaper", connect_timeout=2)


@contextmanager
def _given_up_after(connection: connect.Connection, seconds: float) -> Iterator[None]:
    """Shut the connection down where its queries take longer, so that they raise `psycopg.Error`."""
    with socket.socket(fileno=os.dup(connection.fileno())) as duplicate:
        timer = threading.Timer(seconds, duplicate.shutdown, [socket.SHUT_RDWR])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _copies(connection: connect.Connection, application_name: str) -> bool:
    if connection.info.server_version < COPY_VIEW_SINCE:
        return False
    before = _number(connection, _COPIED, application_name)
    if not before:
        return False
    time.sleep(COPY_WATCHED_S)
    return _number(connection, _COPIED, application_name) > before


def _number(connection: connect.Connection, query: LiteralString, *parameters: object) -> int:
    row = connection.execute(query, parameters).fetchone()
    return int(row[0]) if row else 0


def terminate(run: Run) -> int | None:
    """End this attempt's sessions, directly on the cluster; return their number, None where that failed."""
    if run.cluster is None:
        return None
    try:
        with connect.connect(run.cluster, application_name="pooldeck-reaper") as connection:
            found = connection.execute(_TERMINATE, (run.application_name, run.went_through_pool)).fetchone()
    except (PoolsError, SealBroken, psycopg.Error) as error:
        log.warning("run %s: its sessions on the server could not be ended: %s", run.pk, error)
        return None
    ended = int(found[0]) if found else 0
    if ended:
        log.info("run %s: %d sessions were ended on the server", run.pk, ended)
    return ended
