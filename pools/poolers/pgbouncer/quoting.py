"""Values inside an entry of [databases] and [users], which PgBouncer reads like a connection string."""

import re

PAIR = re.compile(r"(\w+)=(?:'((?:[^']|'')*)'|(\S+))")


def quoted(value: str) -> str:
    """A value in single quotes, its own quotes doubled: the only escape a connection string of PgBouncer has."""
    return "'" + value.replace("'", "''") + "'"
