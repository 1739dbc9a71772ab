"""Lists, creates, changes and drops databases on the live server of a cluster."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import LiteralString, TypedDict

from django.db.models import Model
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import errors, sql
from psycopg.rows import class_row

from core.audit.acts import recorded
from pools.approvals.acts import DROP_DATABASE
from pools.approvals.holding import held_back
from pools.clusters import connect, duplicates, health_check
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.inventory import connection_limits
from pools.models import Cluster, Pool, identifiers
from pools.poolers import driver
from pools.provisioning import auth_query, blockers, ddl, ownership
from pools.provisioning.blockers import DropBlocked, Obstacle
from pools.provisioning.ddl import session

logger = logging.getLogger(__name__)

NO_LIMIT = -1
LARGEST = 2_147_483_647  # limit of datconnlimit
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

_UNCHANGEABLE: Promise = gettext_lazy("%(reason)s: it can't be changed here")
_UNDROPPABLE: Promise = gettext_lazy("%(reason)s: it can't be dropped here")


class InvalidDatabase(InvalidValues):
    """The values for a database are invalid."""


class LimitValues(TypedDict, total=False):
    """The fields that databases and roles have in common."""

    connection_limit: int | None  # -1: none


class DatabaseValues(LimitValues, total=False):
    """The fields that `create` accepts; `change` accepts the owner and the limit."""

    name: str
    owner: str | None
    encoding: str | None
    template: str | None


@dataclass(frozen=True)
class Database:
    """A database as it is now; `connections` excludes the panel's own, `connection_limit` is -1 for none."""

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
    def made_for(self) -> str:
        """The experiment that made it for itself; empty of others'."""
        return identifiers.experiment_of(self.name)

    @property
    def is_broken(self) -> bool:
        """True if an interrupted DROP left it, so that only another DROP helps."""
        return self.connection_limit == BROKEN


@dataclass(frozen=True)
class Choices:
    """Names on a cluster: databases without templates, templates, and roles without PostgreSQL's own."""

    databases: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)


def list_all(cluster: Cluster) -> list[Database]:
    """Return all databases except templates, by name, with the pools that lead to each. Raises `ClusterUnreachable`."""
    leading = _pools_by_database(cluster)
    with session(cluster) as connection:
        found = _found(connection, NOT_TEMPLATES)
    return [replace(database, pools=tuple(leading[database.name])) for database in found]


def find(cluster: Cluster, name: str) -> Database:
    """Return one database, even a template, with the pools that lead to it. Raises `NotThere`, `ClusterUnreachable`."""
    with session(cluster) as connection:
        return _find(cluster, connection, name)


def choices(cluster: Cluster) -> Choices:
    """Return the names that forms offer. Raises `ClusterUnreachable`."""
    with session(cluster) as connection:
        rows = connection.execute("SELECT datname, datistemplate FROM pg_database ORDER BY 1").fetchall()
        roles = connection.execute(r"SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1").fetchall()
    databases = [name for name, is_template in rows if not is_template]
    return Choices(databases, [name for name, is_template in rows if is_template], [name for (name,) in roles])


@recorded("database.create", "values")
def create(cluster: Cluster, values: DatabaseValues, author: Model | None = None) -> Database:
    """Create a database: `name`, and optionally `owner`, `encoding`, `template`, `connection_limit`.

    Raises `InvalidDatabase` or what `ddl.session` raises; an encoding without a template uses template0,
    and the locale C where it is not the server's usual one.
    """
    InvalidDatabase.refuse(_problems(values))
    with session(cluster) as connection:
        InvalidDatabase.refuse(_missing(cluster, connection, values))
        if owner := values.get("owner"):
            ownership.join(connection, owner)
        try:
            connection.execute(_create(values, _usual_encoding(connection)))
        except errors.ObjectInUse:
            sessions = blockers.in_database(cluster, connection, values.get("template") or "template1")
            raise IllegalTransition(_template_in_use(values, sessions)) from None
        except (errors.InvalidParameterValue, errors.WrongObjectType) as error:
            field = "encoding" if values.get("encoding") else "name"
            params = {"cluster": cluster, "reason": ddl.message_of(error)}
            raise InvalidDatabase({field: [_("cluster %(cluster)s refuses: %(reason)s") % params]}) from None
        database = _find(cluster, connection, values["name"])
    auth_query.extend(cluster, database.name)
    _report(cluster, database.name, "created", author)
    return database


@recorded("database.change", "name", "values")
def change(cluster: Cluster, name: str, values: DatabaseValues, author: Model | None = None) -> Database:
    """Write `owner` and `connection_limit`, where given. Raises `InvalidDatabase`, `NotThere`, `IllegalTransition`."""
    InvalidDatabase.refuse(limit_problems(values))
    with session(cluster, field="owner") as connection:
        database = _find(cluster, connection, name)
        _refuse_guarded(cluster, database, _UNCHANGEABLE)
        InvalidDatabase.refuse(chain(_missing(cluster, connection, values), _too_low(connection, database, values)))
        with connection.transaction():
            if owner := values.get("owner"):
                ownership.join(connection, owner)
            for statement in _changes(database, values):
                connection.execute(statement)
        changed = _find(cluster, connection, name)
    _report(cluster, name, "changed", author)
    return changed


def blocking(cluster: Cluster, name: str) -> list[Obstacle]:
    """Return the pools that lead to a database, then its sessions: each blocks its drop."""
    pools = duplicates.pools_of(cluster).filter(database=name)
    with session(cluster) as connection:
        return [*blockers.of_leading_pools(pools), *blockers.in_database(cluster, connection, name)]


def _to_drop(cluster: Cluster, name: str, author: Model | None = None) -> dict[str, object]:
    """Return which database has the name now. Raises as `drop`, so that nobody is asked for what can't be done."""
    with session(cluster) as connection:
        _refuse_guarded(cluster, _find(cluster, connection, name), _UNDROPPABLE)
        _refuse_held(cluster, name)
        found = connection.execute("SELECT oid FROM pg_database WHERE datname = %s", [name]).fetchone()
    return {"oid": found[0] if found else None}


@held_back(DROP_DATABASE, _to_drop)
@recorded("database.drop", "name")
def drop(cluster: Cluster, name: str, author: Model | None = None) -> None:
    """Drop a database for good.

    Raises `NotThere`, `DropBlocked` (with the blockers), `IllegalTransition` for a template or maintenance database.
    """
    with session(cluster) as connection:
        _refuse_guarded(cluster, _find(cluster, connection, name), _UNDROPPABLE)
        _refuse_held(cluster, name)
        try:
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
        except errors.ObjectInUse:  # a new session, or a holder without one; PostgreSQL waits 5 s
            _refuse_held(cluster, name)
            raise
    _report(cluster, name, "dropped", author)


def protection_of(cluster: Cluster, database: Database) -> str:
    """Return why the panel does not change this database, or an empty text."""
    if database.name == cluster.maintenance_database:
        text = _("database %(database)r is the panel's maintenance database on cluster %(cluster)s")
        return text % {"database": database.name, "cluster": cluster}
    if database.is_template:
        text = _("database %(database)r is a template that new databases are copied from")
        return text % {"database": database.name}
    return ""


def _refuse_guarded(cluster: Cluster, database: Database, refusal: Promise) -> None:
    if (reason := protection_of(cluster, database)) and (refusal is _UNDROPPABLE or database.is_template):
        raise IllegalTransition(refusal % {"reason": reason})


def _refuse_held(cluster: Cluster, name: str) -> None:
    if obstacles := blocking(cluster, name):
        raise DropBlocked.database(name, obstacles)


def _found(connection: connect.Connection, wanted: sql.Composable) -> list[Database]:
    with connection.cursor(row_factory=class_row(Database)) as cursor:
        try:
            return cursor.execute(DATABASES.format(size=SIZE, wanted=wanted)).fetchall()
        except (errors.QueryCanceled, errors.InvalidCatalogName, errors.UndefinedFile):
            # very many files to count, or one dropped while it was counted
            return cursor.execute(DATABASES.format(size=sql.SQL("NULL"), wanted=wanted)).fetchall()


def _find(cluster: Cluster, connection: connect.Connection, name: str) -> Database:
    if "\0" in name or not (found := _found(connection, BY_NAME.format(sql.Literal(name)))):
        text = _("there is no database %(database)r on cluster %(cluster)s")
        raise NotThere(text % {"database": name, "cluster": cluster})
    return replace(found[0], pools=tuple(cluster.pools.wanted().filter(database=name).select_related("pooler")))


def _pools_by_database(cluster: Cluster) -> dict[str, list[Pool]]:
    leading: dict[str, list[Pool]] = defaultdict(list)
    for pool in cluster.pools.wanted():
        leading[pool.database].append(pool)
    return leading


def _problems(values: DatabaseValues) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for what is invalid without asking the server."""
    if message := identifiers.new_name_problem(values.get("name") or ""):
        yield "name", message
    encoding, template = values.get("encoding") or "", values.get("template") or ""
    if encoding and encoding not in ENCODINGS:
        text = _("%(encoding)r is not offered: choose one of %(choices)s")
        yield "encoding", text % {"encoding": encoding, "choices": ", ".join(ENCODINGS)}
    if message := identifiers.identifier_problem(template) if template else "":
        yield "template", message
    yield from limit_problems(values)


def limit_problems(values: LimitValues) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for an invalid connection limit."""
    limit = values.get("connection_limit")
    if limit is not None and not NO_LIMIT <= limit <= LARGEST:
        text = _("%(limit)s is not a connection limit: enter 0 to %(largest)s, or %(no_limit)s for none")
        yield "connection_limit", text % {"limit": limit, "largest": LARGEST, "no_limit": NO_LIMIT}


def _missing(cluster: Cluster, connection: connect.Connection, values: DatabaseValues) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for an owner or a template that does not exist."""
    owner, template = values.get("owner") or "", values.get("template") or ""
    if owner and not _exists(connection, "SELECT FROM pg_roles WHERE rolname = {}", owner):
        text = _("there is no role %(role)r on cluster %(cluster)s: create it or choose another")
        yield "owner", text % {"role": owner, "cluster": cluster}
    if template and not _exists(connection, "SELECT FROM pg_database WHERE datname = {}", template):
        text = _("there is no database %(database)r on cluster %(cluster)s: choose another template")
        yield "template", text % {"database": template, "cluster": cluster}


def _too_low(connection: connect.Connection, database: Database, values: DatabaseValues) -> Iterator[tuple[str, str]]:
    """Yield a problem where a new limit is below what a pool opens; superusers are not held to it."""
    limit = values.get("connection_limit")
    if limit is not None and limit != database.connection_limit:
        exempt = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles WHERE rolsuper").fetchall()}
        affected = [pool for pool in database.pools if driver(pool.pooler).probing_role(pool) not in exempt]
        yield from connection_limits.pools_above(affected, limit)


def _exists(connection: connect.Connection, query: LiteralString, name: str) -> bool:
    return "\0" not in name and bool(connection.execute(sql.SQL(query).format(sql.Literal(name))).fetchall())


def _usual_encoding(connection: connect.Connection) -> str:
    """Return the encoding that needs no other locale than the server's own."""
    (encoding,) = connection.execute(USUAL_ENCODING).fetchall()[0]
    return str(encoding)


def _create(values: DatabaseValues, usual_encoding: str) -> sql.Composed:
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


def _changes(database: Database, values: DatabaseValues) -> Iterator[sql.Composed]:
    name, owner, limit = sql.Identifier(database.name), values.get("owner"), values.get("connection_limit")
    if owner and owner != database.owner:
        yield sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, sql.Identifier(owner))
    if limit is not None and limit != database.connection_limit:
        yield sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}").format(name, sql.Literal(limit))


def _template_in_use(values: DatabaseValues, obstacles: list[Obstacle]) -> str:
    params = {"template": values.get("template") or "template1", "blockers": blockers.joined(obstacles)}
    if obstacles:
        return _("template %(template)r is in use, so it can't be copied: %(blockers)s") % params
    return _("template %(template)r was in use, so it could not be copied: try again") % params


def _report(cluster: Cluster, name: str, done: str, author: Model | None) -> None:
    """Log the change, and check the cluster so that forms offer it at once."""
    logger.info("database %r of cluster %s (%s) %s by %s", name, cluster.pk, cluster, done, author)
    health_check.check_cluster(cluster)
