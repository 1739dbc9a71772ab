"""Settings that carry SQL: what is harmless whoever sets it (with a server: tests/live/pools/inventory)."""

import pytest

from pools.inventory import sql_settings


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "select 1",
        "SELECT 1;",
        "ABORT; DISCARD ALL",
        "RESET ALL",
        "set statement_timeout = '5s'",
        "SET application_name TO billing; SET TIMEZONE = 'Europe/Zurich'",
    ],
)
def test_what_changes_nothing_but_the_session_is_harmless(sql: str) -> None:
    assert sql_settings.is_harmless(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO PROGRAM 'id'",
        "select 1; COPY t TO PROGRAM 'id'",
        "SELECT pg_read_file('/etc/passwd')",
        "SET ROLE postgres",
        "SET search_path TO evil",
        "SET statement_timeout = '5s' || (SELECT f())",
        "SET application_name = 'a\\'; DROP TABLE t; --'",
        "SET application_name = E'a'",
        "DO $$ BEGIN END $$",
        "/* */ ALTER SYSTEM SET x = 1",
        "select 1 -- \n; ALTER SYSTEM RESET ALL",
        "SET SESSION AUTHORIZATION postgres",
    ],
)
def test_all_else_is_not(sql: str) -> None:
    assert not sql_settings.is_harmless(sql)
