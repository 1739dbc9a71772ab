"""Sessions of a run on the server: their current statements, and their end when the program was stopped or lost."""

import logging
from dataclasses import dataclass

import psycopg

from benchmarks.models import Run
from core.lib.crypto import SealBroken
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


def began_statements(run: Run, within_s: float) -> bool:
    """Test whether this attempt's sessions began a statement in the last `within_s` seconds, by the cluster's clock.

    A load whose client has died begins none. False where the cluster can't be queried.
    """
    if run.cluster is None:
        return False
    try:
        with connect.connect(run.cluster, application_name="pooldeck-reaper") as connection:
            found = connection.execute(_BEGUN_SINCE, (run.application_name, within_s)).fetchone()
    except (PoolsError, SealBroken, psycopg.Error) as error:
        log.warning("run %s: whether its load goes on could not be asked: %s", run.pk, error)
        return False
    return bool(found and found[0])


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
