"""What roles own in all databases of a cluster, and where they have privileges."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg import sql

from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Cluster
from pools.provisioning.blockers import Obstacle

EXAMPLES = 5
DATABASES_SEARCHED = 10

# pg_shdepend is shared: any database shows what roles own in every other one; dbid 0: shared objects.
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
"""  # noqa: S608 (of constants)
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
""")  # noqa: S608 (of constants)


MAY_GIVE = sql.SQL("SELECT pg_has_role({role}, {privilege})")  # always true for a superuser
SET_SINCE = 160000  # Before this release, membership was enough to act as a role.


@dataclass(frozen=True)
class OwnedObjects:
    """The number of objects that a role owns in a database, or, where none is named, of databases or tablespaces."""

    database: str
    kind: str  # object, database, tablespace or shared object
    count: int

    def __str__(self) -> str:
        return self._text() % {"count": self.count, "database": self.database}

    def _text(self) -> str:
        if self.database:
            return ngettext("%(count)s object in %(database)s", "%(count)s objects in %(database)s", self.count)
        if self.kind == "database":
            return ngettext("%(count)s database", "%(count)s databases", self.count)
        if self.kind == "tablespace":
            return ngettext("%(count)s tablespace", "%(count)s tablespaces", self.count)
        return ngettext("%(count)s shared object", "%(count)s shared objects", self.count)


def by_role(connection: connect.Connection) -> dict[str, tuple[OwnedObjects, ...]]:
    """Map each role to what it owns, by database."""
    owned: dict[str, list[OwnedObjects]] = defaultdict(list)
    for role, *found in connection.execute(COUNTED).fetchall():
        owned[role].append(OwnedObjects(*found))
    return {role: tuple(all_owned) for role, all_owned in owned.items()}


def privileged_in(connection: connect.Connection, role: str) -> list[str]:
    """Return the databases in which, or on which, a role has privileges."""
    rows = connection.execute(PRIVILEGED.format(sql.Literal(role))).fetchall()
    return [database for (database,) in rows]


def join(connection: connect.Connection, role: str) -> None:
    """Make the panel's login a member of a role, so that it can make that role an owner even without superuser.

    It stays a member, or it could neither change nor drop the object later. Raises what psycopg raises where the login
    may not grant the role to itself (the manual on ALTER DATABASE, "you must be able to SET ROLE").
    """
    privilege = "SET" if connection.info.server_version >= SET_SINCE else "MEMBER"
    query = MAY_GIVE.format(role=sql.Literal(role), privilege=sql.Literal(privilege))
    if connection.execute(query).fetchall() != [(True,)]:
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))


def obstacles(cluster: Cluster, role: str, owned: Iterable[OwnedObjects]) -> list[Obstacle]:
    """Return the objects that a role owns, the first few by name, and how to reassign them."""
    found = []
    for number, one in enumerate(owned):
        examples = _examples(cluster, role, one) if number < DATABASES_SEARCHED else []
        found.append(Obstacle(_owns(one, examples), _remedy(role, one.database)))
    return found


def _owns(owned: OwnedObjects, examples: list[str]) -> str:
    params = {"objects": owned, "examples": ", ".join(examples)}
    if not examples:
        return _("it owns %(objects)s") % params
    if owned.count > len(examples):
        return _("it owns %(objects)s (%(examples)s, …)") % params
    return _("it owns %(objects)s (%(examples)s)") % params


def _remedy(role: str, database: str) -> str:
    if not database:
        return _("give each another owner first")
    quoted = sql.Identifier(role).as_string(None)
    return _("run there first: %(sql)s") % {"sql": f"REASSIGN OWNED BY {quoted} TO another_role"}


def _examples(cluster: Cluster, role: str, owned: OwnedObjects) -> list[str]:
    """Return the first objects by name; none where the database can't be queried."""
    values = {"role": role, "shared": not owned.database, "kind": owned.kind, "most": EXAMPLES}
    query = DESCRIBED.format(**{name: sql.Literal(value) for name, value in values.items()})
    try:
        with connect.connect(cluster, database=owned.database or None) as connection:
            return [description for (description,) in connection.execute(query).fetchall()]
    except (ClusterUnreachable, psycopg.Error):
        return []
