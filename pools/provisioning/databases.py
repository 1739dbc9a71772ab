"""The databases of a cluster: listed, created, changed and dropped on the live server."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Model
from psycopg import errors, sql
from psycopg.rows import class_row

from pools.clusters import connect, duplicates, health_check
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.models import Cluster, Pool, identifiers
from pools.provisioning import blockers, ddl, ownership
from pools.provisioning.blockers import DropBlocked, Obstacle
from pools.provisioning.ddl import changing

logger = logging.getLogger(__name__)

NO_LIMIT = -1
LARGEST = 2_147_483_647  # of datconnlimit
BROKEN = -2  # its limit where an interrupted DROP left it (PostgreSQL 16's release notes, and minor releases of 2023)
PLAIN_TEMPLATE = "template0"  # the one that takes any encoding
ANY_ENCODING_S_LOCALE = "C"  # the others fit one encoding each (the manual on CREATE DATABASE)
ENCODINGS = ("UTF8", "SQL_ASCII", "LATIN1", "LATIN2", "LATIN9", "WIN1250", "WIN1251", "WIN1252", "KOI8R", "EUC_JP")

# Sizes are shown only to who may connect, or is in pg_read_all_stats (the manual on pg_database_size).
SIZE = sql.SQL("""
    CASE WHEN has_database_privilege(d.oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'MEMBER')
         THEN pg_database_size(d.oid) END
""")
DATABASES = sql.SQL("""
    SELECT d.datname AS name, pg_get_userbyid(d.datdba) AS owner, {size} AS size_bytes,
           pg_encoding_to_char(d.encoding) AS encoding, d.datcollate AS collation,
           d.datconnlimit AS connection_limit, d.datistemplate AS is_template,
           d.datallowconn AS allows_connections, coalesce(a.connections, 0) AS connections
      FROM pg_database d
      LEFT JOIN (SELECT datid, count(*) AS connections FROM pg_stat_activity
                  WHERE pid <> pg_backend_pid() GROUP BY datid) a ON a.datid = d.oid
     WHERE {wanted} ORDER BY d.datname
""")
NOT_TEMPLATES, BY_NAME = sql.SQL("NOT d.datistemplate"), sql.SQL("d.datname = {}")
USUAL_ENCODING = "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'template0'"


class InvalidDatabase(InvalidValues):
    """What was typed for a database can't be taken."""


@dataclass(frozen=True)
class Database:
    """A database as its cluster has it now; `connections` without the panel's own, `connection_limit` -1 for none."""

    name: str
    owner: str
    size_bytes: int | None
    encoding: str
    collation: str
    connection_limit: int
    is_template: bool
    allows_connections: bool
    connections: int
    pools: tuple[Pool, ...] = ()

    @property
    def is_broken(self) -> bool:
        """Whether an interrupted DROP left it, so that only another DROP helps."""
        return self.connection_limit == BROKEN


@dataclass(frozen=True)
class Choices:
    """What a cluster holds, by name: the databases without the templates, the roles without PostgreSQL's own."""

    databases: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


def listed(cluster: Cluster) -> list[Database]:
    """All but the templates, by name, with the pools that lead to each. Raises `ClusterUnreachable`."""
    leading = _pools_by_database(cluster)
    with changing(cluster) as connection:
        found = _found(connection, NOT_TEMPLATES)
    return [replace(database, pools=tuple(leading[database.name])) for database in found]


def find(cluster: Cluster, name: str) -> Database:
    """One database, a template too, with the pools that lead to it. Raises `NotThere`, `ClusterUnreachable`."""
    with changing(cluster) as connection:
        return _find(cluster, connection, name)


def choices(cluster: Cluster) -> Choices:
    """The names that forms offer. Raises `ClusterUnreachable`."""
    with changing(cluster) as connection:
        rows = connection.execute("SELECT datname, datistemplate FROM pg_database ORDER BY 1").fetchall()
        roles = connection.execute(r"SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1").fetchall()
    databases = [name for name, is_template in rows if not is_template]
    return Choices(databases, [name for name, is_template in rows if is_template], [name for (name,) in roles])


def create(cluster: Cluster, values: dict[str, Any], author: Model | None = None) -> Database:
    """Create a database: `name`, and optionally `owner`, `encoding`, `template`, `connection_limit`.

    Raises `InvalidDatabase` or what `statements.changing` raises; an encoding without a template takes
    template0, and the locale C where it is not the server's usual one.
    """
    InvalidDatabase.refuse(_problems(values))
    with changing(cluster) as connection:
        InvalidDatabase.refuse(_missing(cluster, connection, values))
        if values.get("owner"):
            ownership.join(connection, values["owner"])
        try:
            connection.execute(_create(values, _usual_encoding(connection)))
        except errors.ObjectInUse:
            held = blockers.in_database(cluster, connection, values.get("template") or "template1")
            raise IllegalTransition(_template_in_use(values, held)) from None
        except (errors.InvalidParameterValue, errors.WrongObjectType) as error:
            field = "encoding" if values.get("encoding") else "name"
            raise InvalidDatabase({field: [f"cluster {cluster} refuses: {ddl.message_of(error)}"]}) from None
        made = _find(cluster, connection, values["name"])
    _report(cluster, made.name, "created", author)
    return made


def change(cluster: Cluster, name: str, values: dict[str, Any], author: Model | None = None) -> Database:
    """Write `owner` and `connection_limit`, where given. Raises `InvalidDatabase`, `NotThere`, `IllegalTransition`."""
    InvalidDatabase.refuse(limit_problems(values))
    with changing(cluster, field="owner") as connection:
        pool_set = _find(cluster, connection, name)
        _refuse_guarded(cluster, pool_set, "changed")
        InvalidDatabase.refuse(_missing(cluster, connection, values))
        with connection.transaction():
            if values.get("owner"):
                ownership.join(connection, values["owner"])
            for statement in _changes(pool_set, values):
                connection.execute(statement)
        changed = _find(cluster, connection, name)
    _report(cluster, name, "changed", author)
    return changed


def blocking(cluster: Cluster, name: str) -> list[Obstacle]:
    """What a drop would be refused for: the pools that lead there, then who is logged in."""
    pools = duplicates.pools_of(cluster).filter(database=name)
    with changing(cluster) as connection:
        return [*blockers.of_pools(pools, "leads there"), *blockers.in_database(cluster, connection, name)]


def drop(cluster: Cluster, name: str, author: Model | None = None) -> None:
    """Drop a database for good.

    Raises `NotThere`, `DropBlocked` (saying by whom), and `IllegalTransition` for a template or maintenance database.
    """
    with changing(cluster) as connection:
        _refuse_guarded(cluster, _find(cluster, connection, name), "dropped")
        _refuse_held(cluster, name)
        try:
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
        except errors.ObjectInUse:  # somebody came in meanwhile, or holds it without a session; PostgreSQL waits 5 s
            _refuse_held(cluster, name)
            raise
    _report(cluster, name, "dropped", author)


def guarded(cluster: Cluster, database: Database) -> str:
    """Why the panel leaves this database alone; empty where it does not."""
    if database.name == cluster.maintenance_database:
        return f"database {database.name!r} is where the panel logs in to look around at cluster {cluster}"
    if database.is_template:
        return f"database {database.name!r} is a template, which new databases are made of"
    return ""


def _refuse_guarded(cluster: Cluster, database: Database, verb: str) -> None:
    if (reason := guarded(cluster, database)) and (verb == "dropped" or database.is_template):
        raise IllegalTransition(f"{reason}: it can't be {verb} here")


def _refuse_held(cluster: Cluster, name: str) -> None:
    if held := blocking(cluster, name):
        raise DropBlocked(f"database {name!r}", held)


def _found(connection: connect.Connection, wanted: sql.Composable) -> list[Database]:
    with connection.cursor(row_factory=class_row(Database)) as cursor:
        try:
            return cursor.execute(DATABASES.format(size=SIZE, wanted=wanted)).fetchall()
        except (errors.QueryCanceled, errors.InvalidCatalogName, errors.UndefinedFile):
            # very many files to count, or one dropped while it was counted
            return cursor.execute(DATABASES.format(size=sql.SQL("NULL"), wanted=wanted)).fetchall()


def _find(cluster: Cluster, connection: connect.Connection, name: str) -> Database:
    if "\0" in name or not (found := _found(connection, BY_NAME.format(sql.Literal(name)))):
        raise NotThere(f"there is no database {name!r} on cluster {cluster}")
    return replace(found[0], pools=tuple(cluster.pools.wanted().filter(database=name)))


def _pools_by_database(cluster: Cluster) -> dict[str, list[Pool]]:
    leading: dict[str, list[Pool]] = defaultdict(list)
    for pool in cluster.pools.wanted():
        leading[pool.database].append(pool)
    return leading


def _problems(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, message) for what can be told without asking the server."""
    if message := identifiers.new_name_problem(values.get("name") or ""):
        yield "name", message
    encoding, template = values.get("encoding") or "", values.get("template") or ""
    if encoding and encoding not in ENCODINGS:
        yield "encoding", f"{encoding!r} is not offered: choose one of {', '.join(ENCODINGS)}"
    if message := identifiers.identifier_problem(template) if template else "":
        yield "template", message
    yield from limit_problems(values)


def limit_problems(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, message) for a connection limit that can't be."""
    limit = values.get("connection_limit")
    if limit is not None and not NO_LIMIT <= limit <= LARGEST:
        yield "connection_limit", f"{limit} is no limit: use 0 to {LARGEST}, or {NO_LIMIT} for none"


def _missing(cluster: Cluster, connection: connect.Connection, values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """An owner or a template that is not there."""
    owner, template = values.get("owner") or "", values.get("template") or ""
    if owner and not _exists(connection, "SELECT FROM pg_roles WHERE rolname = {}", owner):
        yield "owner", f"there is no role {owner!r} on cluster {cluster}: create it or choose another"
    if template and not _exists(connection, "SELECT FROM pg_database WHERE datname = {}", template):
        yield "template", f"there is no database {template!r} on cluster {cluster}: choose another template"


def _exists(connection: connect.Connection, query: Any, name: str) -> bool:
    return "\0" not in name and bool(connection.execute(sql.SQL(query).format(sql.Literal(name))).fetchall())


def _usual_encoding(connection: connect.Connection) -> str:
    """The one that needs no other locale than the server's own."""
    (encoding,) = connection.execute(USUAL_ENCODING).fetchall()[0]
    return str(encoding)


def _create(values: dict[str, Any], usual_encoding: str) -> sql.Composed:
    encoding, limit = values.get("encoding"), values.get("connection_limit")
    template = values.get("template") or (PLAIN_TEMPLATE if encoding else "")
    parts = [sql.SQL("CREATE DATABASE {}").format(sql.Identifier(values["name"]))]
    for word, name in (("OWNER", values.get("owner")), ("TEMPLATE", template)):
        if name:
            parts.append(sql.SQL(word + " {}").format(sql.Identifier(name)))
    if encoding:
        parts.append(sql.SQL("ENCODING {}").format(sql.Literal(encoding)))
    if encoding and encoding != usual_encoding and template == PLAIN_TEMPLATE:
        parts.append(sql.SQL("LC_COLLATE {} LC_CTYPE {}").format(*2 * [sql.Literal(ANY_ENCODING_S_LOCALE)]))
    if limit is not None:
        parts.append(sql.SQL("CONNECTION LIMIT {}").format(sql.Literal(limit)))
    return sql.SQL(" ").join(parts)


def _changes(pool_set: Database, values: dict[str, Any]) -> Iterator[sql.Composed]:
    name, owner, limit = sql.Identifier(pool_set.name), values.get("owner"), values.get("connection_limit")
    if owner and owner != pool_set.owner:
        yield sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(owner))
    if limit is not None and limit != pool_set.connection_limit:
        yield sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}").format(name, sql.Literal(limit))


def _template_in_use(values: dict[str, Any], held: list[Obstacle]) -> str:
    who = "; ".join(str(obstacle) for obstacle in held) or "it was left a moment ago: try again"
    return f"template {values.get('template') or 'template1'!r} is in use, so it can't be copied: {who}"


def _report(cluster: Cluster, name: str, done: str, author: Model | None) -> None:
    """Log it, and let the pickers of forms know at once."""
    logger.info("database %r of cluster %s (%s) %s by %s", name, cluster.pk, cluster, done, author)
    health_check.check_cluster(cluster)
