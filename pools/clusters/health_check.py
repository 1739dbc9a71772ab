"""Checks clusters: the roles of their servers, their databases and roles, and the connections in use."""

import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, cast

import psycopg
from django.utils.translation import gettext as _
from psycopg.rows import dict_row

from core.lib import private_text
from pools.clusters import connect, endpoints, failover, replication, session_deadline, topology
from pools.clusters.replication import Finding
from pools.clusters.topology import Place
from pools.errors import ClusterUnreachable
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, ListedDatabase, ListedRole

logger = logging.getLogger(__name__)
Cursor = psycopg.Cursor[dict[str, Any]]

AT_ONCE = 32
STATEMENT_TIMEOUT_MS = 10_000
PAUSE_S = 0.01  # pause between the first steps of a client

# A role without pg_read_all_stats sees other sessions with an empty backend_type; clients have a role and a database.
FIGURES = """
    SELECT split_part(current_setting('server_version'), ' ', 1) AS server_version,
           current_setting('server_version_num')::int AS server_version_num,
           current_setting('max_connections')::int AS max_connections,
           current_setting('superuser_reserved_connections')::int AS superuser_reserved_connections,
           coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved_connections,
           (SELECT count(*) FROM pg_stat_activity
             WHERE pid <> pg_backend_pid() AND usesysid IS NOT NULL AND datid IS NOT NULL
               AND coalesce(backend_type, 'client backend') = 'client backend') AS used_connections
"""
DATABASES = """
    SELECT datname AS name, pg_get_userbyid(datdba) AS owner,
           datallowconn AS allow_connections, datconnlimit AS connection_limit,
           CASE WHEN has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'MEMBER')
                THEN pg_database_size(oid) END AS size_bytes
      FROM pg_database WHERE NOT datistemplate ORDER BY datname
"""
DATABASES_WITHOUT_SIZES = """
    SELECT datname AS name, pg_get_userbyid(datdba) AS owner,
           datallowconn AS allow_connections, datconnlimit AS connection_limit, NULL AS size_bytes
      FROM pg_database WHERE NOT datistemplate ORDER BY datname
"""
ROLES = r"""
    SELECT rolname AS name, rolcanlogin AS can_login, rolsuper AS superuser, rolconnlimit AS connection_limit,
           coalesce(rolvaliduntil < now(), false) AS password_expired
      FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname
"""
# Shows whether a role's password was set anew since the last check, to those who may read it. A role that may not would
# leave an error in the server's log.
MAY_READ_DIGESTS = "SELECT has_table_privilege('pg_catalog.pg_authid', 'SELECT') AS may"
DIGESTS = """
    SELECT rolname, encode(sha256(convert_to(rolpassword, 'UTF8')), 'hex') FROM pg_catalog.pg_authid
     WHERE rolcanlogin AND rolpassword IS NOT NULL
"""


def inspect(cluster: Cluster) -> Finding:
    """Return the fields of `ClusterStatus` as found at the cluster's own address; the error if it is unreachable.

    Writes no record, so that threads can inspect many servers at once.
    """
    return _answer(Place(cluster), lambda cursor: replication.part_of(cursor) | _figures(cursor))


def inspect_node(place: Place) -> Finding:
    """Return the same fields of another server; figures only of a primary, since a standby's are the primary's."""
    return _answer(place, _part_and_figures_of_primary)


def inspect_place(place: Place) -> Finding:
    """Inspect the cluster's own address or one of its nodes."""
    return inspect(place.cluster) if place.node is None else inspect_node(place)


def check_cluster(cluster: Cluster) -> ClusterStatus:
    """Check all servers of the cluster and record the findings; unreachable ones keep their last good figures."""
    check_all([cluster])
    status, _ = ClusterStatus.objects.get_or_create(cluster=cluster)
    cluster.status = status
    return status


def check_all(clusters: Iterable[Cluster] | None = None) -> None:
    """Check all servers at once, each recorded as soon as it answers, so that a dead one delays no other.

    Pools of a cluster whose primary moved are marked as pending with that reason; beat applies them.
    """
    to_check = Cluster.objects.select_related("status").prefetch_related("nodes") if clusters is None else clusters
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="check") as threads:
        futures = {
            threads.submit(inspect_place, place): place for one in to_check for place in topology.of_cluster(one)
        }
        for answer in as_completed(futures):
            _record_if_unchanged(futures[answer], answer.result())


def record(cluster: Cluster, finding: Finding) -> ClusterStatus:
    """Write what `inspect` found; without the figures where another server is the primary."""
    status, _ = ClusterStatus.objects.get_or_create(cluster=cluster)
    if status.state != finding["state"]:
        logger.info("cluster %s is %s now %s", cluster.pk, finding["state"], finding["error"])
    cluster.status = _with(status, replication.part_in(finding))
    status.record(**(finding if topology.primary(cluster).node is None else replication.part_in(finding)))
    return status


def record_node(node: ClusterNode, finding: Finding) -> None:
    """Write what `inspect_node` found on the node, and the figures, if it is the primary, on its cluster's status."""
    part = replication.part_in(finding)
    if problem := replication.identity_problem(node.cluster, part):
        part = {**replication.nothing_known(problem), "in_recovery": None, "timeline": None}
    if node.state != part["state"]:
        logger.info("node %s of cluster %s is %s now %s", node, node.cluster_id, part["state"], part["error"])
    node.record(**part)
    figures = {name: value for name, value in finding.items() if name not in part}
    if figures and topology.primary(node.cluster).node == node:
        ClusterStatus.objects.filter(cluster=node.cluster).update(**figures)


def _record_if_unchanged(place: Place, finding: Finding) -> None:
    """Record a finding, unless the cluster was edited or the server removed since the check began."""
    cluster, node = place.cluster, place.node
    if not Cluster.objects.filter(pk=cluster.pk, version=cluster.version).exists():
        return
    with failover.pools_of(cluster):
        if node is None:
            record(cluster, finding)
        elif ClusterNode.objects.filter(pk=node.pk).exists():
            record_node(node, finding)
    replication.measure_disconnected_standbys(cluster)


def _with(status: ClusterStatus, finding: Finding) -> ClusterStatus:
    for name, value in finding.items():
        setattr(status, name, value)
    return status


def _answer(place: Place, ask: Callable[[Cursor], Finding]) -> Finding:
    try:
        with connect.connect(place.cluster, at=place.address) as connection:
            connection.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
            with connection.cursor(row_factory=dict_row) as cursor:
                finding: Finding = {**ask(cursor), "ip_address": connection.info.hostaddr}
        _query_as_a_client(place)
    except ClusterUnreachable as error:
        return replication.nothing_known(_with_remedy(error))
    except psycopg.Error as error:
        words = " ".join(str(error).split())
        return replication.nothing_known(_("logged in, but the query failed: %(words)s") % {"words": words})
    return {"state": ClusterState.ONLINE, "error": "", **finding}


def _query_as_a_client(place: Place) -> None:
    """Run a query of 10 ms in a session with the server's own settings; raises what psycopg and `connect` raise.

    The panel's other sessions set time-outs of their own: with `statement_timeout` or `idle_session_timeout` at 1 ms
    they work while every client fails.
    """
    with (
        connect.connect_endpoint(endpoints.at(place.cluster, place.address)) as session,
        session_deadline.within(session, STATEMENT_TIMEOUT_MS / 1000) as gave_up,
    ):
        time.sleep(PAUSE_S)
        try:
            session.execute("SELECT pg_sleep(%s)", [PAUSE_S])
        except psycopg.Error as error:
            late = _("no answer within %(seconds)g s") % {"seconds": STATEMENT_TIMEOUT_MS / 1000}
            words = late if gave_up.is_set() else " ".join(str(error).split())
            text = _("a client's session fails: %(words)s; see the server's settings, such as its time-outs")
            raise ClusterUnreachable(text % {"words": words}) from None


def _with_remedy(error: ClusterUnreachable) -> str:
    if "shutting down" not in error.words:
        return str(error)
    text = _(
        "%(error)s; a smart shutdown (SIGTERM) waits until all sessions have ended, the idle ones of poolers too: end "
        "them, or stop it with pg_ctl stop -m fast"
    )
    return private_text.write(text % {"error": private_text.for_admins(str(error))}, str(error))


def _part_and_figures_of_primary(cursor: Cursor) -> Finding:
    part = replication.part_of(cursor)
    return part if part["in_recovery"] else {**part, **_figures(cursor)}


def _figures(cursor: Cursor) -> Finding:
    figures = cast(Finding, cursor.execute(FIGURES).fetchone() or {})
    return {
        **figures,
        "databases": _databases(cursor),
        "roles": _roles(cursor),
        "replication": replication.receivers(cursor),
    }


def _roles(cursor: Cursor) -> list[ListedRole]:
    roles = cast(list[ListedRole], cursor.execute(ROLES).fetchall())
    allowed = cursor.execute(MAY_READ_DIGESTS).fetchone()
    if not (allowed and allowed["may"]):
        return roles
    try:
        digests = {row["rolname"]: row["encode"] for row in cursor.execute(DIGESTS)}
    except psycopg.errors.UndefinedFunction:  # sha256() is there since 11
        return roles
    return [{**role, "password_digest": digests.get(role["name"], "")} for role in roles]


def _databases(cursor: Cursor) -> list[ListedDatabase]:
    try:
        found = cursor.execute(DATABASES).fetchall()
    except (psycopg.errors.QueryCanceled, psycopg.errors.InvalidCatalogName, psycopg.errors.UndefinedFile):
        # very many files to count, or one dropped while it was counted
        found = cursor.execute(DATABASES_WITHOUT_SIZES).fetchall()
    return cast(list[ListedDatabase], found)
