"""Values inside an entry of [databases] and [users], which PgBouncer reads like a connection string."""

import re

PAIR = re.compile(r"(\w+)=(?:'((?:[^']|'')*)'|(\S+))")


def quoted(value: str) -> str:
    """Quote a value and double its quotes: the only escape in a connection string of PgBouncer."""
    return "'" + value.replace("'", "''") + "'"
