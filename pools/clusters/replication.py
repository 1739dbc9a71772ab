"""Reads a server's part in replication: primary or standby, of which system, and how far behind."""

from datetime import datetime
from typing import Any, TypedDict, cast

import psycopg
from django.utils.translation import gettext as _

from pools.clusters import topology
from pools.models import Cluster, ClusterState, ListedDatabase, ListedRole
from pools.models.check_result import CheckResult

Cursor = psycopg.Cursor[dict[str, Any]]


class Part(TypedDict, total=False):
    """The findings about one server, by the fields of `pools.models.check_result.CheckResult`."""

    state: str
    error: str
    system_identifier: str  # empty where it is not permitted to ask
    ip_address: str
    in_recovery: bool | None
    timeline: int | None
    wal_position: int | None
    replayed_at: datetime | None
    streaming: bool | None
    lag_bytes: int | None
    lag_s: float | None


class Finding(Part, total=False):
    """The findings about a server, and about the cluster where the server is its primary: see `ClusterStatus`."""

    server_version: str
    server_version_num: int
    max_connections: int
    superuser_reserved_connections: int
    reserved_connections: int
    used_connections: int
    databases: list[ListedDatabase]
    roles: list[ListedRole]
    replication: list[dict[str, object]]


MOST_RECEIVERS = 100

# latest_end_lsn is where the primary's WAL ended when it last sent something (walreceiver.c, ProcessWalSndrMessage);
# it is hidden from roles without pg_read_all_stats, so the received position replaces it. In recovery nothing is
# written, so CASE guards the functions that would fail there.
PART = """
    WITH here AS (
        SELECT pg_is_in_recovery() AS in_recovery,
               CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END AS written,
               pg_last_wal_replay_lsn() AS replayed, pg_last_xact_replay_timestamp() AS replayed_at,
               greatest(pg_last_wal_receive_lsn(), (SELECT latest_end_lsn FROM pg_stat_wal_receiver)) AS sent,
               EXISTS (SELECT FROM pg_stat_wal_receiver WHERE coalesce(status, 'streaming') = 'streaming') AS receiving
    )
    SELECT in_recovery,
           CASE WHEN NOT in_recovery THEN ('x' || left(pg_walfile_name(written), 8))::bit(32)::int END AS timeline,
           pg_wal_lsn_diff(CASE WHEN in_recovery THEN replayed ELSE written END, '0/0')::bigint AS wal_position,
           CASE WHEN in_recovery THEN receiving END AS streaming,
           CASE WHEN in_recovery THEN greatest(0, pg_wal_lsn_diff(sent, replayed))::bigint END AS lag_bytes,
           CASE WHEN NOT in_recovery THEN NULL WHEN receiving AND sent <= replayed THEN 0
                WHEN replayed_at IS NULL THEN NULL
                ELSE greatest(0, extract(epoch FROM clock_timestamp() - replayed_at)) END::float AS lag_s,
           CASE WHEN in_recovery THEN replayed_at END AS replayed_at
      FROM here
"""
# granted to PUBLIC by default, but an administrator may have revoked it
MAY_ASK_IDENTIFIER = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE') AS allowed"
IDENTIFIER = "SELECT system_identifier::text AS system_identifier FROM pg_control_system()"

# A role without pg_read_all_stats sees only pid, role and application.
RECEIVERS = """
    SELECT application_name, host(client_addr) AS client_addr, state, sync_state,
           pg_wal_lsn_diff(here.lsn, sent_lsn)::bigint AS unsent_bytes,
           pg_wal_lsn_diff(here.lsn, write_lsn)::bigint AS unwritten_bytes,
           pg_wal_lsn_diff(here.lsn, flush_lsn)::bigint AS unflushed_bytes,
           pg_wal_lsn_diff(here.lsn, replay_lsn)::bigint AS unreplayed_bytes,
           extract(epoch FROM write_lag)::float AS write_lag_s,
           extract(epoch FROM flush_lag)::float AS flush_lag_s,
           extract(epoch FROM replay_lag)::float AS replay_lag_s
      FROM pg_stat_replication,
           (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() ELSE pg_current_wal_lsn() END) here(lsn)
     ORDER BY replay_lsn, application_name LIMIT %s
"""


def part_of(cursor: Cursor) -> Finding:
    """Query the server's identifier ('' where that is not permitted), role, timeline, position and lag."""
    row = cursor.execute(PART).fetchone() or {}
    allowed = (cursor.execute(MAY_ASK_IDENTIFIER).fetchone() or {}).get("allowed")
    identifier = cursor.execute(IDENTIFIER).fetchone() if allowed else None
    return cast(Finding, {**row, "system_identifier": "", **(identifier or {})})


def receivers(cursor: Cursor) -> list[dict[str, object]]:
    """List the receivers of this server's WAL and their lag, in bytes and seconds; the farthest behind first."""
    return cursor.execute(RECEIVERS, [MOST_RECEIVERS]).fetchall()


def part_in(finding: Finding) -> Finding:
    """Return the fields of a finding that describe the server itself, not the cluster as a whole."""
    return cast(Finding, {name: value for name, value in finding.items() if name in Part.__annotations__})


def nothing_known(error: str) -> Finding:
    """Return the finding of a server that could not be queried: its role stays, its lag is unknown."""
    unreachable = ClusterState.UNREACHABLE
    return {"state": unreachable, "error": error, "streaming": None, "lag_bytes": None, "lag_s": None}


def identity_problem(cluster: Cluster, part: Finding) -> str:
    """Return why the server can't be one of this cluster's; empty where it is one, or where that is unknown.

    initdb gives each system an identifier of its own, which its base backups keep (PostgreSQL's manual, initdb).
    """
    identifier, known_identifier = part.get("system_identifier", ""), topology.identifier_of(cluster)
    if not identifier or not known_identifier or identifier == known_identifier:
        return ""
    return _(
        "the server there belongs to another system (identifier %(theirs)s; cluster %(cluster)s has %(ours)s): "
        "it is not a copy of this cluster: register it as a cluster of its own"
    ) % {"theirs": identifier, "cluster": cluster, "ours": known_identifier}


def measure_disconnected_standbys(cluster: Cluster) -> None:
    """Measure the lag of standbys that receive nothing against the primary's last position: they can't know it."""
    end = topology.primary(cluster).found.wal_position
    for standby in topology.standbys(cluster):
        check_result = standby.found
        if (
            check_result.state != ClusterState.ONLINE
            or check_result.streaming
            or end is None
            or check_result.wal_position is None
        ):
            continue
        check_result.lag_bytes = max(0, end - check_result.wal_position)
        check_result.lag_s = _age(check_result) if check_result.lag_bytes else 0.0
        check_result.save(update_fields=["lag_bytes", "lag_s"])


def _age(check_result: CheckResult) -> float | None:
    """Return the age of the last replayed commit at the check, in seconds; None where it replayed none."""
    if check_result.replayed_at is None or check_result.checked_at is None:
        return None
    return max(0.0, (check_result.checked_at - check_result.replayed_at).total_seconds())
