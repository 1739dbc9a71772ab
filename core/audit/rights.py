"""What the panel's role may do to the trail beyond reading and adding: docs/reference/audit.md takes it away."""

from collections.abc import Sequence
from typing import Any, Protocol

from core.audit.models import Entry

# An owner may grant itself whatever it lacks, and so may a member of the owner.
_BEYOND_APPENDING = """
    SELECT privilege FROM unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE']) AS privilege
     WHERE has_table_privilege(%s::regclass, privilege)
     UNION ALL
    SELECT 'owner' FROM pg_class WHERE oid = %s::regclass AND pg_has_role(relowner, 'MEMBER')
"""


class Cursor(Protocol):
    """A cursor of a PostgreSQL connection."""

    def execute(self, query: Any, params: Any = None, /) -> object:  # noqa: ANN401 (Django's and psycopg's differ)
        """Run a query."""

    def fetchall(self) -> Sequence[tuple[Any, ...]]:
        """Return the rows."""


def beyond_appending(cursor: Cursor, table: str = Entry._meta.db_table) -> list[str]:
    """Return the rights on the table with which the session's role could change or remove entries of PostgreSQL's."""
    cursor.execute(_BEYOND_APPENDING, [table, table])
    return [str(row[0]) for row in cursor.fetchall()]
