"""What roles own, in all the databases of a cluster, and where they were given privileges."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg
from psycopg import sql

from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from pools.provisioning.blockers import Obstacle

EXAMPLES = 5
DATABASES_SEARCHED = 10

# pg_shdepend is shared: it knows from anywhere what roles own in every database; dbid 0: what is in none.
KIND = """
    CASE WHEN s.dbid <> 0 THEN 'object'
         ELSE CASE s.classid WHEN 'pg_database'::regclass THEN 'database'
                             WHEN 'pg_tablespace'::regclass THEN 'tablespace' ELSE 'shared object' END END
"""
COUNTED = f"""
    SELECT r.rolname, coalesce(d.datname, ''), {KIND}, count(*)
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid LEFT JOIN pg_database d ON d.oid = s.dbid
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname !~ '^pg_'
     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""  # noqa: S608  # of constants
PRIVILEGED = sql.SQL("""
    SELECT DISTINCT d.datname
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
      JOIN pg_database d ON d.oid = s.dbid OR (s.dbid = 0 AND s.classid = 'pg_database'::regclass AND d.oid = s.objid)
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype <> 'o' AND r.rolname = {} AND d.datallowconn
     ORDER BY 1
""")
DESCRIBED = sql.SQL(f"""
    SELECT pg_describe_object(s.classid, s.objid, s.objsubid)
      FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
     WHERE s.refclassid = 'pg_authid'::regclass AND s.deptype = 'o' AND r.rolname = {{role}}
       AND s.dbid = CASE WHEN {{shared}} THEN 0
                         ELSE (SELECT oid FROM pg_database WHERE datname = current_database()) END
       AND {KIND} = {{kind}}
     ORDER BY 1 LIMIT {{most}}
""")  # noqa: S608  # of constants


MAY_GIVE = sql.SQL("SELECT pg_has_role({role}, {privilege})")  # always true for a superuser
SET_SINCE = 160000  # before it, membership was enough to act as a role


@dataclass(frozen=True)
class Owned:
    """How many objects a role owns in a database, or, where none is named, how many databases or tablespaces."""

    database: str
    kind: str  # object, database, tablespace or shared object
    count: int

    def __str__(self) -> str:
        where = f" in {self.database}" if self.database else ""
        return f"{self.count} {self.kind}{'s' if self.count > 1 else ''}{where}"


def counted(connection: connect.Connection) -> dict[str, tuple[Owned, ...]]:
    """Role → what it owns, by database."""
    owned: dict[str, list[Owned]] = defaultdict(list)
    for role, *found in connection.execute(COUNTED).fetchall():
        owned[role].append(Owned(*found))
    return {role: tuple(all_owned) for role, all_owned in owned.items()}


def privileged_in(connection: connect.Connection, role: str) -> list[str]:
    """The databases in which, or on which, a role was given privileges."""
    rows = connection.execute(PRIVILEGED.format(sql.Literal(role))).fetchall()
    return [database for (database,) in rows]


def join(connection: connect.Connection, role: str) -> None:
    """Let the panel's login give things to a role: one that is no superuser must be able to act as the new owner.

    It stays a member, or it could neither change nor drop later what it gave. Raises what psycopg raises where the
    login may not grant the role to itself (the manual on ALTER DATABASE, "you must be able to SET ROLE").
    """
    privilege = "SET" if connection.info.server_version >= SET_SINCE else "MEMBER"
    asked = MAY_GIVE.format(role=sql.Literal(role), privilege=sql.Literal(privilege))
    if connection.execute(asked).fetchall() != [(True,)]:
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))


def obstacles(cluster: Cluster, role: str, owned: Iterable[Owned]) -> list[Obstacle]:
    """What a role owns, with the first few by name, and how to give it away."""
    found = []
    for number, one in enumerate(owned):
        examples = _examples(cluster, role, one) if number < DATABASES_SEARCHED else []
        listed = f" ({', '.join(examples)}{', …' if one.count > len(examples) else ''})" if examples else ""
        found.append(Obstacle(f"it owns {one}{listed}", _remedy(role, one.database)))
    return found


def _remedy(role: str, database: str) -> str:
    if not database:
        return "give each another owner first"
    quoted = sql.Identifier(role).as_string(None)
    return f"run there first: REASSIGN OWNED BY {quoted} TO another_role"


def _examples(cluster: Cluster, role: str, owned: Owned) -> list[str]:
    """The first objects by name; none where the database can't be looked into."""
    values = {"role": role, "shared": not owned.database, "kind": owned.kind, "most": EXAMPLES}
    query = DESCRIBED.format(**{name: sql.Literal(value) for name, value in values.items()})
    try:
        with connect.connect(cluster, database=owned.database or None) as connection:
            return [described for (described,) in connection.execute(query).fetchall()]
    except (ClusterUnreachable, psycopg.Error):
        return []
