"""The one statement by which a run's server is asked each second, for the views that its version has."""

from typing import LiteralString

# The sessions of the whole server, since it is one server's connections, locks and disks that they share; a role
# without pg_read_all_stats sees others with an empty backend_type and state. Watchers' own sessions are left out.
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
# beside the checkpoints that were begun, what only those did that were not skipped for want of anything to write
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
# WAL has rows of its own there since 18, and is told already
_IO_18: LiteralString = """
        (SELECT sum(read_bytes) FROM pg_stat_io WHERE object <> 'wal')::float8 AS read_bytes,
        (SELECT sum(write_bytes) FROM pg_stat_io WHERE object <> 'wal')::float8 AS written_bytes"""


def statement(version: int) -> LiteralString:
    """The statement for a server of that `server_version_num`; its one parameter is the loaded database's name.

    It gives one row: sessions by wait (`type:event`, or `CPU` of one that waits for nothing) and by state, and
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
    return f"WITH {_SESSIONS} SELECT {', '.join(columns)} FROM pg_stat_database WHERE datname = %(database)s"  # noqa: S608
