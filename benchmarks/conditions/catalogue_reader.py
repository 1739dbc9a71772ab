"""What an idle client did before it became idle: it looked round in the catalogue, as a published experiment has it.

Each idle client lists information_schema's tables, reads one row of every view it finds there, and commits; what it
read stays in its backend's caches, which is what makes an idle connection cost memory.
"""

from typing import Any

import psycopg
from psycopg import sql

LIST = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'information_schema' ORDER BY 1"


def read_catalogue(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """Read it in one transaction of this session; how many views were read."""
    with connection.transaction():
        views = [row[0] for row in connection.execute(LIST)]
        for view in views:
            one = sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier("information_schema", view))
            connection.execute(one, prepare=False)
    return len(views)
