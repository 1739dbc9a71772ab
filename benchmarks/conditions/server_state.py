"""Leaves the server alike before every run: the load's tables vacuumed, a checkpoint done."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import psycopg
from psycopg import sql

from benchmarks.conditions.contract import Held
from benchmarks.conditions.waiting import carry_out
from benchmarks.errors import Refused
from pools.servers import postgres

LOADED = ("pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers", "products")
SYSBENCH = "^sbtest[0-9]+$"
_TABLES = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid) AND (c.relname = ANY(%s) OR c.relname ~ %s)
    ORDER BY 1, 2
"""


@contextmanager
def prepared(held: Held) -> Iterator[None]:
    """VACUUM (ANALYZE) and CHECKPOINT, where they were asked for; there is nothing to undo. Raises `Refused`."""
    if held.run.options.get("vacuum"):
        _vacuum(held)
    if held.run.options.get("checkpoint"):
        _checkpoint(held)
    yield


def _vacuum(held: Held) -> None:
    began = time.monotonic()
    with _session(held, held.run.database) as connection:
        tables = connection.execute(_TABLES, (list(LOADED), SYSBENCH)).fetchall()
        for schema, table in tables:
            name = sql.Identifier(schema, table)
            _send(held, connection, sql.SQL("VACUUM (ANALYZE) {}").format(name), f"VACUUM (ANALYZE) {table}")
    seconds = round(time.monotonic() - began, 3)
    held.note("vacuum", {"tables": [table for _, table in tables], "seconds": seconds})


def _checkpoint(held: Held) -> None:
    """Superusers may, and from PostgreSQL 15 on members of pg_checkpoint."""
    began = time.monotonic()
    with _session(held, None) as connection:
        _send(held, connection, sql.SQL("CHECKPOINT"), "CHECKPOINT")
    held.note("checkpoint", {"seconds": round(time.monotonic() - began, 3)})


def _session(held: Held, database: str | None) -> postgres.Connection:
    """The panel's own session, past any pooler."""
    if held.run.cluster is None:
        raise Refused(f"the cluster of {held.run.target_label} was removed")
    return postgres.connect(held.run.cluster, database=database, application_name="pooldeck-conditions")


def _send(held: Held, connection: postgres.Connection, command: sql.Composable, words: str) -> None:
    held.tell(words)
    try:
        carry_out(held, partial(connection.execute, command), connection.cancel_safe)
    except psycopg.Error as error:
        raise Refused(f"{held.run.cluster} refused {words}: {str(error).splitlines()[0]}") from None
