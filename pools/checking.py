"""Looks at clusters: what they are, what they hold, and how many of their connections are in use."""

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pools import postgres
from pools.errors import ClusterUnreachable
from pools.models import Cluster, ClusterState, ClusterStatus

logger = logging.getLogger(__name__)

AT_ONCE = 32
STATEMENT_TIMEOUT_MS = 10_000

# A role without pg_read_all_stats sees other sessions with an empty backend_type; clients have a role and a database.
FIGURES = """
    SELECT split_part(current_setting('server_version'), ' ', 1) AS server_version,
           current_setting('server_version_num')::int AS server_version_num,
           current_setting('max_connections')::int AS max_connections,
           current_setting('superuser_reserved_connections')::int AS superuser_reserved_connections,
           coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved_connections,
           pg_is_in_recovery() AS in_recovery,
           (SELECT count(*) FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL AND datid IS NOT NULL
               AND coalesce(backend_type, 'client backend') = 'client backend') AS used_connections
"""
DATABASES = """
    SELECT datname AS name, pg_get_userbyid(datdba) AS owner,
           CASE WHEN has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'MEMBER')
                THEN pg_database_size(oid) END AS size_bytes
      FROM pg_database WHERE NOT datistemplate ORDER BY datname
"""
DATABASES_WITHOUT_SIZES = """
    SELECT datname AS name, pg_get_userbyid(datdba) AS owner, NULL AS size_bytes
      FROM pg_database WHERE NOT datistemplate ORDER BY datname
"""
ROLES = r"""
    SELECT rolname AS name, rolcanlogin AS can_login, rolsuper AS superuser, rolconnlimit AS connection_limit
      FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname
"""


def inspect(cluster: Cluster) -> dict[str, Any]:
    """The fields of `ClusterStatus` as found now; for an unreachable cluster only its state and the error.

    Touches no record, so that many can be asked at once from threads.
    """
    try:
        with postgres.connect(cluster) as connection:
            return {"state": ClusterState.ONLINE, "error": "", **_figures(connection)}
    except ClusterUnreachable as error:
        return {"state": ClusterState.UNREACHABLE, "error": str(error)}
    except psycopg.Error as error:
        words = " ".join(str(error).split())
        return {"state": ClusterState.UNREACHABLE, "error": f"logged in, but the server could not be asked: {words}"}


def check_cluster(cluster: Cluster) -> ClusterStatus:
    """Ask the cluster and record what it said; an unreachable one keeps the figures of its last good check."""
    return record(cluster, inspect(cluster))


def check_all(clusters: Iterable[Cluster] | None = None) -> None:
    """Check all clusters at once, each recorded as soon as it answers, so that a dead one delays no other."""
    wanted = Cluster.objects.all() if clusters is None else clusters
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="check") as threads:
        asked = {threads.submit(inspect, cluster): cluster for cluster in wanted}
        for answer in as_completed(asked):
            _record_if_unchanged(asked[answer], answer.result())


def record(cluster: Cluster, found: dict[str, Any]) -> ClusterStatus:
    """Write what `inspect` found."""
    status, _ = ClusterStatus.objects.get_or_create(cluster=cluster)
    if status.state != found["state"]:
        logger.info("cluster %s is %s now %s", cluster.pk, found["state"], found["error"])
    status.record(**found)
    cluster.status = status
    return status


def _record_if_unchanged(cluster: Cluster, found: dict[str, Any]) -> None:
    """A cluster that was edited or removed meanwhile keeps what that said of it."""
    if Cluster.objects.filter(pk=cluster.pk, version=cluster.version).exists():
        record(cluster, found)


def _figures(connection: postgres.Connection) -> dict[str, Any]:
    connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
    with connection.cursor(row_factory=dict_row) as cursor:
        figures = cursor.execute(FIGURES).fetchone() or {}
        return {**figures, "databases": _databases(cursor), "roles": cursor.execute(ROLES).fetchall()}


def _databases(cursor: psycopg.Cursor[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        return cursor.execute(DATABASES).fetchall()
    except (psycopg.errors.QueryCanceled, psycopg.errors.InvalidCatalogName, psycopg.errors.UndefinedFile):
        # very many files to count, or one dropped while it was counted
        return cursor.execute(DATABASES_WITHOUT_SIZES).fetchall()
