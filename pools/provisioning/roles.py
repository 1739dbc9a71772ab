"""Lists, creates, changes and drops roles on the live server of a cluster, and resets their passwords."""

import logging
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import cast

from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import sql
from psycopg.rows import class_row

from core.audit.acts import recorded
from pools import task_queue
from pools.approvals.acts import DROP_ROLE
from pools.approvals.holding import held_back
from pools.clusters import connect, duplicates, health_check
from pools.errors import IllegalTransition, InvalidValues, NotThere
from pools.inventory import connection_limits
from pools.inventory import pools as pool_changes
from pools.models import Cluster, Pool, identifiers
from pools.poolers import kinds_that
from pools.provisioning import blockers, databases, grants, ownership, passwords
from pools.provisioning.blockers import DropBlocked, Obstacle
from pools.provisioning.ddl import session
from pools.provisioning.grants import Access
from pools.provisioning.ownership import OwnedObjects

logger = logging.getLogger(__name__)

NO_LIMIT, LARGEST = databases.NO_LIMIT, databases.LARGEST
RESERVED = ("public", "none", "current_role", "current_user", "session_user", "user")  # CREATE ROLE refuses most

# A time that Python can't represent (infinity, or after 9999) is NULL; `has_expired` is right for those too.
ROLES = sql.SQL(r"""
    SELECT r.rolname AS name, r.rolcanlogin AS can_login, r.rolsuper AS superuser, r.rolcreatedb AS createdb,
           r.rolcreaterole AS createrole, r.rolreplication AS replication, r.rolconnlimit AS connection_limit,
           CASE WHEN r.rolvaliduntil BETWEEN '0002-01-01 UTC' AND '9998-12-31 UTC'
                THEN r.rolvaliduntil AT TIME ZONE 'UTC' END AS valid_until,
           coalesce(r.rolvaliduntil <= now(), false) AS has_expired,
           ARRAY(SELECT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
                  WHERE m.member = r.oid ORDER BY 1) AS member_of,
           coalesce(a.connections, 0) AS connections
      FROM pg_roles r
      LEFT JOIN (SELECT usesysid, count(*) AS connections FROM pg_stat_activity
                  WHERE pid <> pg_backend_pid() GROUP BY usesysid) a ON a.usesysid = r.oid
     WHERE r.rolname !~ '^pg_' AND {wanted} ORDER BY r.rolname
""")
ALL, BY_NAME = sql.SQL("true"), sql.SQL("r.rolname = {}")

_UNCHANGEABLE: Promise = gettext_lazy("%(reason)s: it can't be changed here, use psql")
_UNDROPPABLE: Promise = gettext_lazy("%(reason)s: it can't be dropped here, use psql")


class InvalidRole(InvalidValues):
    """The values for a role are invalid."""


class RoleValues(databases.LimitValues, total=False):
    """The fields that `create` accepts; `change` accepts the login, the limit and the end of the password."""

    name: str
    can_login: bool
    valid_until: datetime | None  # None: no end
    database: str | None  # the database that it gets access to
    access: str | None


@dataclass(frozen=True)
class Role:
    """A role as it is now; `connection_limit` is -1 for none, `valid_until` is of its password."""

    name: str
    can_login: bool
    superuser: bool
    createdb: bool
    createrole: bool
    replication: bool
    connection_limit: int
    valid_until: datetime | None
    has_expired: bool
    member_of: list[str]
    connections: int
    owns: tuple[OwnedObjects, ...] = ()
    pools: tuple[Pool, ...] = ()

    @property
    def made_for(self) -> str:
        """The experiment that made it for itself; empty of others'."""
        return identifiers.experiment_of(self.name)

    @property
    def rights(self) -> list[str]:
        """Its attributes in words, except for `can_login`."""
        attributes = {
            _("superuser"): self.superuser,
            _("creates databases"): self.createdb,
            _("creates roles"): self.createrole,
            _("replicates"): self.replication,
        }
        return [word for word, holds in attributes.items() if holds]


def list_all(cluster: Cluster) -> list[Role]:
    """Return all roles except PostgreSQL's own, with what each owns and its pools. Raises `ClusterUnreachable`."""
    using = _pools_by_user(cluster)
    with session(cluster) as connection:
        found, owned = _found(connection, ALL), ownership.by_role(connection)
    return [replace(role, owns=owned.get(role.name, ()), pools=tuple(using[role.name])) for role in found]


def find(cluster: Cluster, name: str) -> Role:
    """Return one role, with what it owns and the pools that log in with it. Raises `NotThere`, `ClusterUnreachable`."""
    with session(cluster) as connection:
        return _find(cluster, connection, name)


@recorded("role.create", "values")
def create(cluster: Cluster, values: RoleValues, author: Model | None = None) -> tuple[Role, str]:
    """Create a role and return it with its new password, which is empty where it can't log in.

    `values`: name, can_login (default true), connection_limit (-1: none), valid_until, and with a `database` the
    `access` to it (default connect). All of it or nothing. The panel keeps the password, so that pools can log in
    with it. Raises `InvalidRole` or what `ddl.session` raises.
    """
    InvalidRole.refuse(_problems(values))
    name, can_login = values["name"], values.get("can_login", True)
    password = passwords.generate() if can_login else ""
    InvalidRole.refuse(_missing_database(cluster, values))
    rendered = list(_rendered_with(cluster, name))
    with session(cluster, values.get("database") or None) as connection:
        with connection.transaction():
            connection.execute(_create(values, passwords.hashed(connection, name, password) if password else ""))
            if database := values.get("database"):
                _grant(connection, database, name, Access(values.get("access") or Access.CONNECT))
            if password:
                cluster.keep_password(name, password)
        role = _find(cluster, connection, name)
    if password:
        task_queue.ask_again(rendered, author)
    _report(cluster, name, "created", author)
    return role, password


@recorded("role.change", "name", "values")
def change(cluster: Cluster, name: str, values: RoleValues, author: Model | None = None) -> Role:
    """Write `can_login`, `connection_limit` and `valid_until` (None: no end), where given.

    Raises `InvalidRole`, `NotThere`, and `IllegalTransition` for a guarded role.
    """
    InvalidRole.refuse(chain(_limit_problems(values), _lockouts(cluster, name, values)))
    with session(cluster) as connection:
        role = _find(cluster, connection, name)
        refuse_guarded(cluster, role, _UNCHANGEABLE)
        if (limit := values.get("connection_limit")) != role.connection_limit:
            InvalidRole.refuse(connection_limits.pools_above(role.pools, limit))
        if options := list(_options(values)):
            alter = sql.SQL("ALTER ROLE {} {}").format(sql.Identifier(name), sql.SQL(" ").join(options))
            connection.execute(alter)
        changed = _find(cluster, connection, name)
    _report(cluster, name, "changed", author)
    return changed


@recorded("role.reset_password", "name")
def reset_password(cluster: Cluster, name: str, author: Model | None = None) -> str:
    """Set a new password of a role and return it; the pools that log in with the role are applied again.

    Connected clients keep their sessions. Raises `NotThere`, and `IllegalTransition` for a role that is guarded, that
    can't log in, or whose password is shared with another cluster behind the same pooler.
    """
    password = passwords.generate()
    with session(cluster) as connection:
        role = _find(cluster, connection, name)
        if reason := password_protection_of(cluster, role):
            text = _("%(reason)s: its password can't be reset here, use psql")
            raise IllegalTransition(text % {"reason": reason})
        _refuse_reset(cluster, role, password)
        verifier = passwords.hashed(connection, name, password)
        with transaction.atomic():  # the panel must never lose a password that the server already requires
            rendered = list(_rendered_with(cluster, name))
            cluster.keep_password(name, password)
            task_queue.ask_again(rendered, author)
            connection.execute(_set_password(name, verifier))
    logger.info("role %r of cluster %s (%s) got a new password from %s", name, cluster.pk, cluster, author)
    return password


def blocking(cluster: Cluster, name: str) -> list[Obstacle]:
    """Return the pools, sessions and owned objects of a role, by database: each blocks its drop."""
    pools = duplicates.pools_of(cluster).filter(user=name)
    with session(cluster) as connection:
        obstacles = blockers.of_role(cluster, connection, name)
        owned = ownership.by_role(connection).get(name, ())
    return [*blockers.of_pools_of_role(pools), *obstacles, *ownership.obstacles(cluster, name, owned)]


def _to_drop(cluster: Cluster, name: str, author: Model | None = None) -> dict[str, object]:
    """Return which role has the name now. Raises as `drop`, so that nobody is asked for what can't be done."""
    with session(cluster) as connection:
        refuse_guarded(cluster, _find(cluster, connection, name), _UNDROPPABLE)
        if obstacles := blocking(cluster, name):
            raise DropBlocked.role(name, obstacles)
        found = connection.execute("SELECT oid FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    return {"oid": found[0] if found else None}


@held_back(DROP_ROLE, _to_drop)
@recorded("role.drop", "name")
def drop(cluster: Cluster, name: str, author: Model | None = None) -> None:
    """Drop a role and the privileges that it has; nothing else is dropped.

    Raises `NotThere`, `DropBlocked` (with the blockers), `IllegalTransition` for a guarded role.
    """
    with session(cluster) as connection:
        refuse_guarded(cluster, _find(cluster, connection, name), _UNDROPPABLE)
        if obstacles := blocking(cluster, name):
            raise DropBlocked.role(name, obstacles)
        places = ownership.privileged_in(connection, name)
    for place in places:
        with session(cluster, place) as connection, connection.transaction():
            _take_back(connection, place, name)
    with session(cluster) as connection:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))
    cluster.role_passwords.filter(role=name).delete()
    _report(cluster, name, "dropped", author)


def protection_of(cluster: Cluster, role: Role) -> str:
    """Return why the panel does not change this role, or an empty text."""
    params = {"role": role.name, "cluster": cluster}
    if role.name == cluster.admin_user:
        return _("role %(role)r is the panel's own login to cluster %(cluster)s") % params
    if role.superuser:
        return _("role %(role)r is a superuser, and the panel does not change superusers") % params
    if role.name == cluster.auth_role:
        text = _("role %(role)r looks up the secrets of inbound users for the poolers of cluster %(cluster)s")
        return text % params
    return ""


def password_protection_of(cluster: Cluster, role: Role) -> str:
    """Return why the panel does not reset this role's password; that of the lookup role it does."""
    return "" if role.name == cluster.auth_role else protection_of(cluster, role)


def refuse_guarded(cluster: Cluster, role: Role, refusal: Promise) -> None:
    """Raise `IllegalTransition` for a guarded role."""
    if reason := protection_of(cluster, role):
        raise IllegalTransition(refusal % {"reason": reason})


def pools_of(cluster: Cluster, role: str) -> QuerySet[Pool]:
    """Return the pools of the cluster that log in as this role."""
    return Pool.objects.wanted().filter(cluster=cluster, user=role).select_related("pooler", "cluster")


def _rendered_with(cluster: Cluster, role: str) -> QuerySet[Pool]:
    """Return the pools whose poolers' files hold the role's password; call it before a new one is kept.

    A known password may be with any pool of the inbound user: its role is the lookup role, or was a fixed user before
    and stays in the list (see `pools.poolers.pgbouncer.userlist.remembered`).
    """
    owners = kinds_that("keeps_every_password")
    was_known = cluster.password_of(role) is not None
    inbound = Q(user="") if was_known else Q(user="", pooler__kind__in=owners)
    return Pool.objects.wanted().filter(inbound | Q(user=role), cluster=cluster)


def _pools_by_user(cluster: Cluster) -> dict[str, list[Pool]]:
    using: dict[str, list[Pool]] = defaultdict(list)
    for pool in cluster.pools.wanted().exclude(user=""):
        using[pool.user].append(pool)
    return using


def _found(connection: connect.Connection, wanted: sql.Composable) -> list[Role]:
    with connection.cursor(row_factory=class_row(Role)) as cursor:
        rows = cursor.execute(ROLES.format(wanted=wanted)).fetchall()
    return [replace(row, valid_until=row.valid_until and row.valid_until.replace(tzinfo=UTC)) for row in rows]


def _find(cluster: Cluster, connection: connect.Connection, name: str) -> Role:
    if "\0" in name or not (found := _found(connection, BY_NAME.format(sql.Literal(name)))):
        text = _("there is no role %(role)r on cluster %(cluster)s")
        raise NotThere(text % {"role": name, "cluster": cluster})
    owned = ownership.by_role(connection).get(name, ())
    return replace(found[0], owns=owned, pools=tuple(pools_of(cluster, name)))


def _problems(values: RoleValues) -> Iterator[tuple[str, str]]:
    """Yield (field, message) for what is invalid without asking the server."""
    name, database, access = values.get("name") or "", values.get("database") or "", values.get("access") or ""
    if message := identifiers.new_name_problem(name):
        yield "name", message
    elif name.startswith("pg_") or name in RESERVED:
        yield "name", _("%(name)r is a name that PostgreSQL reserves: choose another") % {"name": name}
    if message := identifiers.identifier_problem(database) if database else "":
        yield "database", message
    if access and not database:
        yield "database", _("name the database of that access, or leave the access out")
    if access and access not in Access.values:
        text = _("%(access)r is not a level of access: choose one of %(choices)s")
        yield "access", text % {"access": access, "choices": ", ".join(Access.values)}
    yield from _limit_problems(values)


def _limit_problems(values: RoleValues) -> Iterator[tuple[str, str]]:
    yield from databases.limit_problems(values)
    until = values.get("valid_until")
    if until is not None and until <= timezone.now():
        text = _("%(time)s is past: choose a future time, or none")
        yield "valid_until", text % {"time": until.isoformat()}


def _missing_database(cluster: Cluster, values: RoleValues) -> Iterator[tuple[str, str]]:
    database = values.get("database") or ""
    if database and database not in (there := databases.choices(cluster).databases):
        text = _("there is no database %(database)r on cluster %(cluster)s (it has %(existing)s): create it first")
        yield "database", text % {"database": database, "cluster": cluster, "existing": ", ".join(there)}


def _lockouts(cluster: Cluster, name: str, values: RoleValues) -> Iterator[tuple[str, str]]:
    """Yield a problem where a role of pools is to lose its login: they would fail at the next connection."""
    using = list(pools_of(cluster, name)) if values.get("can_login") is False else []
    if using:
        text = _("role %(role)r must be able to log in, because pools use it (%(pools)s): remove them first")
        yield "can_login", text % {"role": name, "pools": ", ".join(pool.name for pool in using)}


def _create(values: RoleValues, verifier: str) -> sql.Composed:
    set_values = {key: value for key, value in values.items() if value is not None}
    desired = cast(RoleValues, {"can_login": True, "connection_limit": NO_LIMIT} | set_values)
    password = [sql.SQL("PASSWORD {}").format(sql.Literal(verifier))] if verifier else []
    options = [*_options(desired), *password]
    return sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(values["name"]), sql.SQL(" ").join(options))


def _options(values: RoleValues) -> Iterator[sql.SQL | sql.Composed]:
    if (can_login := values.get("can_login")) is not None:
        yield sql.SQL("LOGIN" if can_login else "NOLOGIN")
    if (limit := values.get("connection_limit")) is not None:
        yield sql.SQL("CONNECTION LIMIT {}").format(sql.Literal(limit))
    if "valid_until" in values:
        until = values["valid_until"]
        yield sql.SQL("VALID UNTIL {}").format(sql.Literal(until.isoformat() if until else "infinity"))


def _set_password(name: str, verifier: str) -> sql.Composed:
    return sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sql.Literal(verifier))


def _refuse_reset(cluster: Cluster, role: Role, password: str) -> None:
    if not role.can_login:
        text = _("role %(role)r can't log in, so it needs no password: let it log in first")
        raise IllegalTransition(text % {"role": role.name})
    for pool in pools_of(cluster, role.name):
        for _field, message in pool_changes.other_passwords(pool, password):
            text = _("a new password for role %(role)r would lock pool %(pool)s out: %(message)s")
            raise IllegalTransition(text % {"role": role.name, "pool": pool, "message": message})


def _grant(connection: connect.Connection, database: str, role: str, access: Access) -> None:
    if access == Access.OWN:
        ownership.join(connection, role)
    for statement in grants.grant_statements(database, role, access, *_schemas_and(connection, sql.SQL(grants.MAKERS))):
        connection.execute(statement)


def _take_back(connection: connect.Connection, database: str, role: str) -> None:
    makers = sql.SQL(grants.GRANTED_MAKERS).format(role=sql.Literal(sql.Identifier(role).as_string(connection)))
    for statement in grants.revoke_statements(database, role, *_schemas_and(connection, makers)):
        connection.execute(statement)


def _schemas_and(connection: connect.Connection, makers: sql.SQL | sql.Composed) -> tuple[list[str], list[str]]:
    """Return the schemas of a session's database, and the roles whose default privileges count."""
    return _first_column(connection, sql.SQL(grants.SCHEMAS)), _first_column(connection, makers)


def _first_column(connection: connect.Connection, query: sql.SQL | sql.Composed) -> list[str]:
    return [name for (name,) in connection.execute(query).fetchall()]


def _report(cluster: Cluster, name: str, done: str, author: Model | None) -> None:
    """Log the change, and check the cluster so that forms offer it at once."""
    logger.info("role %r of cluster %s (%s) %s by %s", name, cluster.pk, cluster, done, author)
    health_check.check_cluster(cluster)
