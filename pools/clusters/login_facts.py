"""Asks a server what decides over the login of a role, as the panel's own login: no refusal gets into its log."""

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from pools.clusters.connect import Connection

Login = tuple[str, str]  # database, role

# The time of the last reload, and the right to read the verifiers of passwords.
SERVER = """
    SELECT pg_conf_load_time()::text, pg_postmaster_start_time()::text,
           has_table_privilege('pg_catalog.pg_authid', 'SELECT')
"""
CATALOG = """
    SELECT d.oid, d.datallowconn, d.datconnlimit, r.oid, r.rolcanlogin, r.rolsuper, r.rolconnlimit,
           r.rolvaliduntil::text, r.rolvaliduntil < now(), has_database_privilege(r.oid, d.oid, 'CONNECT')
      FROM (SELECT) AS asked
      LEFT JOIN pg_catalog.pg_database AS d ON d.datname = %s
      LEFT JOIN pg_catalog.pg_roles AS r ON r.rolname = %s
"""
VERIFIER = """
    SELECT encode(sha256(convert_to(rolpassword, 'UTF8')), 'hex') FROM pg_catalog.pg_authid WHERE rolname = %s
"""


def ask(connection: Connection, logins: Iterable[Login]) -> list[tuple[Any, ...]]:
    """Return the values on the server that change when it starts to accept one of these logins. Raises `psycopg.Error`.

    The panel's login may lack the right to read verifiers: whether a password was changed is then not among it.
    """
    with connection.cursor(row_factory=tuple_row) as cursor:
        server = cursor.execute(SERVER).fetchone() or ()
        rows = [server]
        for database, role in logins:
            rows += cursor.execute(CATALOG, [database, role]).fetchall()
            rows += _verifier(cursor, role) if server[-1:] == (True,) else []
    return rows


def _verifier(cursor: "psycopg.Cursor[tuple[Any, ...]]", role: str) -> list[tuple[Any, ...]]:
    try:
        return cursor.execute(VERIFIER, [role]).fetchall()
    except psycopg.errors.UndefinedFunction:  # sha256() is there since 11
        return []
