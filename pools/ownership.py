"""What roles own, in all the databases of a cluster, and where they were given privileges."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg
from psycopg import sql

from pools import postgres
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from pools.obstacles import Obstacle

EXAMPLES = 5
DATABASES_LOOKED_INTO = 10

# pg_shdepend is shared: it knows from anywhere what roles own in every database (dbid 0: databases, tablespaces).
COUNTED = """
    SELECT r.rolname, coalesce(d.datname, ''), count(*)
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid LEFT JOIN pg_database d ON d.oid = s.dbid
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname !~ '^pg_'
     GROUP BY 1, 2 ORDER BY 1, 2
"""
PRIVILEGED = sql.SQL("""
    SELECT DISTINCT d.datname
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
      JOIN pg_database d ON d.oid = s.dbid OR (s.dbid = 0 AND s.classid = 'pg_database'::regclass AND d.oid = s.objid)
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype <> 'o' AND r.rolname = {} AND d.datallowconn
     ORDER BY 1
""")
DESCRIBED = sql.SQL("""
    SELECT pg_describe_object(s.classid, s.objid, s.objsubid)
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = {role}
       AND s.dbid = CASE WHEN {shared} THEN 0
                         ELSE (SELECT oid FROM pg_database WHERE datname = current_database()) END
     ORDER BY 1 LIMIT {most}
""")


@dataclass(frozen=True)
class Owned:
    """How many objects a role owns in a database; without a name: databases and tablespaces themselves."""

    database: str
    count: int

    def __str__(self) -> str:
        plural = "s" if self.count > 1 else ""
        if not self.database:
            return f"{self.count} database{plural} or tablespace{plural}"
        return f"{self.count} object{plural} in {self.database}"


def counted(connection: postgres.Connection) -> dict[str, tuple[Owned, ...]]:
    """Role → what it owns, by database."""
    owned: dict[str, list[Owned]] = defaultdict(list)
    for role, database, count in connection.execute(COUNTED).fetchall():
        owned[role].append(Owned(database, count))
    return {role: tuple(found) for role, found in owned.items()}


def privileged_in(connection: postgres.Connection, role: str) -> list[str]:
    """The databases in which, or on which, a role was given privileges."""
    rows = connection.execute(PRIVILEGED.format(sql.Literal(role))).fetchall()
    return [database for (database,) in rows]


def obstacles(cluster: Cluster, role: str, owned: Iterable[Owned]) -> list[Obstacle]:
    """What a role owns, with the first few by name, and how to give it away."""
    found = []
    for number, one in enumerate(owned):
        examples = _examples(cluster, role, one.database) if number < DATABASES_LOOKED_INTO else []
        listed = f" ({', '.join(examples)}{', …' if one.count > len(examples) else ''})" if examples else ""
        found.append(Obstacle(f"it owns {one}{listed}", _remedy(role, one.database)))
    return found


def _remedy(role: str, database: str) -> str:
    if not database:
        return "give each another owner first"
    quoted = sql.Identifier(role).as_string(None)
    return f"run there first: REASSIGN OWNED BY {quoted} TO another_role"


def _examples(cluster: Cluster, role: str, database: str) -> list[str]:
    """The first objects by name; none where the database can't be looked into."""
    query = DESCRIBED.format(role=sql.Literal(role), shared=sql.Literal(not database), most=sql.Literal(EXAMPLES))
    try:
        with postgres.connect(cluster, database=database or None) as connection:
            return [described for (described,) in connection.execute(query).fetchall()]
    except (ClusterUnreachable, psycopg.Error):
        return []
