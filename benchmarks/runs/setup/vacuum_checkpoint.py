"""Brings the server to the same state before every run: the load's tables vacuumed, a checkpoint done."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import LiteralString

import psycopg
from django.utils.translation import gettext as _
from psycopg import sql

from benchmarks.errors import Refused
from benchmarks.runs.setup.background import run_in_thread
from benchmarks.runs.setup.base import SetupContext
from pools.clusters import connect
from pools.models import Cluster

LOADED = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers", "products")
SYSBENCH = "^sbtest[0-9]+$"
# VACUUM skips another role's table with only a warning; allowed are the owners of table and database, and from
# PostgreSQL 17 on roles with MAINTAIN
_TABLES: LiteralString = """
    SELECT n.nspname, c.relname, pg_has_role(c.relowner, 'USAGE') OR pg_has_role(d.datdba, 'USAGE')
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_database d ON d.datname = current_database()
     WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND (c.relname = ANY(%s) OR c.relname ~ %s)
     ORDER BY 1, 2
"""
MAINTAIN_SINCE, CHECKPOINT_ROLE_SINCE = 170_000, 150_000


@contextmanager
def prepared(context: SetupContext) -> Iterator[None]:
    """Run VACUUM (ANALYZE) and CHECKPOINT where asked for; nothing needs undoing. Raises `Refused`."""
    if context.run.options.get("vacuum"):
        _vacuum(context)
    if context.run.options.get("checkpoint"):
        _checkpoint(context)
    yield


def _vacuum(context: SetupContext) -> None:
    began = time.monotonic()
    with _session(context, context.run.database) as connection:
        tables = _tables(context, connection)
        for schema, table in tables:
            name = sql.Identifier(schema, table)
            _execute(context, connection, sql.SQL("VACUUM (ANALYZE) {}").format(name), f"VACUUM (ANALYZE) {table}")
    seconds = round(time.monotonic() - began, 3)
    context.note({"vacuum": {"tables": [table for _, table in tables], "seconds": seconds}})


def _tables(context: SetupContext, connection: connect.Connection) -> list[tuple[str, str]]:
    """Return the tables of loads as (schema, name); raise `Refused` where VACUUM would skip one for lack of rights."""
    query = _TABLES
    if connection.info.server_version >= MAINTAIN_SINCE:
        query = query.replace("pg_has_role(d.datdba", "has_table_privilege(c.oid, 'MAINTAIN') OR pg_has_role(d.datdba")
    rows = connection.execute(query, (list(LOADED), SYSBENCH)).fetchall()
    if not_ours := [table for _schema, table, may in rows if not may]:
        raise Refused(
            _(
                "the panel's role may not VACUUM %(tables)s: use the role that owns them or the database, or "
                "leave the vacuum out"
            )
            % {"tables": ", ".join(not_ours)}
        )
    return [(schema, table) for schema, table, _may in rows]


def why_no_checkpoint(cluster: Cluster, connection: connect.Connection) -> str:
    """Return why the panel's role, whose session this is, may not CHECKPOINT; empty where it may."""
    granted = "OR pg_has_role('pg_checkpoint', 'USAGE')"
    asked = granted if connection.info.server_version >= CHECKPOINT_ROLE_SINCE else ""
    row = connection.execute(f"SELECT current_setting('is_superuser') = 'on' {asked}").fetchone()
    if row and row[0]:
        return ""
    if asked:
        text = _(
            "the panel's role on %(cluster)s may not CHECKPOINT: grant it pg_checkpoint, or leave the checkpoint out"
        )
    else:
        text = _("the panel's role on %(cluster)s may not CHECKPOINT: use a superuser, or leave the checkpoint out")
    return text % {"cluster": cluster.name}


def _checkpoint(context: SetupContext) -> None:
    """Run CHECKPOINT, which superusers may, and from PostgreSQL 15 on members of pg_checkpoint."""
    began = time.monotonic()
    with _session(context, None) as connection:
        _execute(context, connection, sql.SQL("CHECKPOINT"), "CHECKPOINT")
    context.note({"checkpoint": {"seconds": round(time.monotonic() - began, 3)}})


def _session(context: SetupContext, database: str | None) -> connect.Connection:
    """Open the panel's own session, past any pooler."""
    if context.run.cluster is None:
        raise Refused(_("the cluster of %(target)s was removed") % {"target": context.run.target_label})
    return connect.connect(context.run.cluster, database=database, application_name="pooldeck-conditions")


def _execute(context: SetupContext, connection: connect.Connection, command: sql.Composable, words: str) -> None:
    context.report(words)
    try:
        run_in_thread(context, partial(connection.execute, command), connection.cancel_safe)
    except psycopg.Error as error:
        raise Refused(
            _("%(cluster)s refused %(command)s: %(error)s")
            % {"cluster": context.run.cluster, "command": words, "error": str(error).splitlines()[0]}
        ) from None
