"""The panel's role on PostgreSQL, with and without the right to change entries of the trail."""

import re
from collections.abc import Iterator

import psycopg
import pytest

from core.audit import rights
from panel.quickstart.servers import PostgresServer
from tests.installation import ROOT

MANUAL = ROOT / "docs/reference/audit.md"
ALL = ["UPDATE", "DELETE", "TRUNCATE", "owner"]


def sql_of_the_manual() -> list[str]:
    (block,) = re.findall(r"```sql\n(ALTER TABLE audit_entry.*?)```", MANUAL.read_text(), re.DOTALL)
    return [one.strip() for one in block.split(";") if one.strip()]


@pytest.fixture
def superuser(postgres: PostgresServer) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
    """A database with a table of the trail's name that the panel's role owns."""
    with postgres.connect() as session:
        session.execute("DROP ROLE IF EXISTS pooldeck, pooldeck_owner")  # that an earlier test left
        session.execute("CREATE ROLE pooldeck")
        session.execute("CREATE ROLE pooldeck_owner")
        session.execute("CREATE TABLE audit_entry (number bigint PRIMARY KEY)")
        session.execute("ALTER TABLE audit_entry OWNER TO pooldeck")
        yield session
        session.execute("RESET ROLE")
        session.execute("DROP TABLE audit_entry")
        session.execute("DROP ROLE pooldeck, pooldeck_owner")


def test_the_sql_of_the_manual_leaves_the_panel_no_right_but_to_append(
    superuser: "psycopg.Connection[tuple[object, ...]]",
) -> None:
    superuser.execute("SET ROLE pooldeck")
    assert rights.beyond_appending(superuser.cursor()) == ALL
    superuser.execute("RESET ROLE")
    for statement in sql_of_the_manual():
        superuser.execute(statement.encode())
    superuser.execute("SET ROLE pooldeck")
    assert rights.beyond_appending(superuser.cursor()) == []
    superuser.execute("INSERT INTO audit_entry VALUES (1)")
    assert superuser.execute("SELECT count(*) FROM audit_entry").fetchone() == (1,)
    for change in (b"UPDATE audit_entry SET number = 2", b"DELETE FROM audit_entry", b"TRUNCATE audit_entry"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            superuser.execute(change)


def test_a_member_of_the_owner_could_change_entries(superuser: "psycopg.Connection[tuple[object, ...]]") -> None:
    for statement in sql_of_the_manual():
        superuser.execute(statement.encode())
    superuser.execute("GRANT pooldeck_owner TO pooldeck")
    superuser.execute("SET ROLE pooldeck")
    assert "owner" in rights.beyond_appending(superuser.cursor())
