"""The lookup of inbound users: a role and a function on a cluster, by which PgBouncer reads their secrets.

Without it a pool of the inbound user logs in as the cluster's admin to read pg_authid. With it, PgBouncer logs in as
a role that may call one function, which returns the secret of any role that may log in now, except superusers.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count

from django.db import transaction
from django.db.models import Model
from django.utils.translation import gettext as _
from psycopg import sql
from psycopg.rows import class_row

from core.audit.acts import recorded
from pools import task_queue
from pools.clusters import auth_query, connect
from pools.errors import IllegalTransition, InvalidValues, PoolsError
from pools.models import Cluster, identifiers
from pools.provisioning import passwords
from pools.provisioning.ddl import session

logger = logging.getLogger(__name__)

SIGNATURE = sql.SQL("{}.{}(text)").format(sql.Identifier(auth_query.SCHEMA), sql.Identifier(auth_query.FUNCTION))
DATABASES = "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate ORDER BY datname"
FOUND = """
    SELECT p.prosrc AS body, p.prosecdef AS as_owner, r.rolsuper AS owner_is_superuser,
           coalesce(p.proconfig, '{}') AS settings,
           EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)
               AS public_may_call
    FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
    WHERE p.oid = to_regprocedure(%s)
"""
SAMPLE = """
    SELECT rolname, rolpassword FROM pg_authid
    WHERE rolcanlogin AND NOT rolsuper AND rolname <> %s AND rolpassword IS NOT NULL
      AND (rolvaliduntil IS NULL OR rolvaliduntil > now())
    ORDER BY rolname LIMIT 1
"""
WRITABLE = "SET default_transaction_read_only = off"  # a database may be read-only by default
RIGHTS = """
    SELECT rolcanlogin AND NOT (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls)
       AND NOT EXISTS (SELECT FROM pg_auth_members m WHERE m.member = r.oid)
    FROM pg_roles r WHERE rolname = %s
"""


@dataclass(frozen=True)
class Finding:
    """The state of the lookup in one database: why it does not work, or an empty text."""

    database: str
    fault: str = ""

    @property
    def works(self) -> bool:
        return not self.fault


@dataclass(frozen=True)
class Function:
    """The look-up function as it exists in a database."""

    body: str
    as_owner: bool
    owner_is_superuser: bool
    settings: list[str]
    public_may_call: bool


def usual_role(cluster: Cluster) -> str:
    """Return a role name that no other cluster uses: a pooler keeps one password for each name."""
    roles = set(Cluster.objects.exclude(pk=cluster.pk).values_list("auth_role", flat=True))
    names_in_turn = (f"{auth_query.USUAL_ROLE}_{number}" for number in count(2))
    return next(name for name in chain([auth_query.USUAL_ROLE], names_in_turn) if name not in roles)


@recorded("cluster.install_auth_query", "role")
def install(cluster: Cluster, role: str = "", author: Model | None = None) -> list[Finding]:
    """Create the role and, in every database, the function; then apply the inbound pools with them.

    Safe to repeat: it repairs changes, and adds the function to new databases. The role's password is generated once
    and kept like that of any role a pool uses. Raises `InvalidValues` (the role), `IllegalTransition` where the
    panel's login may not do it, `ClusterUnreachable`.
    """
    role = role or cluster.auth_role or usual_role(cluster)
    InvalidValues.refuse(_role_problems(cluster, role))
    known = cluster.password_of(role)
    password = known or passwords.generate()
    with session(cluster, field="role") as connection:
        _refuse_all_but_superusers(cluster, connection)
        databases = [str(row[0]) for row in connection.execute(DATABASES)]
        _make_role(connection, role, password, ours=bool(known))
        _remember(cluster, role, password)  # first, so that a retry after a failure recognizes the role as its own
        for database in databases:
            grant = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
            connection.execute(grant.format(sql.Identifier(database), sql.Identifier(role)))
    for database in databases:
        with session(cluster, database, field="role") as connection:
            connection.execute(WRITABLE)
            with connection.transaction():
                _make_function(connection, role)
    _keep(cluster, role, author)
    logger.info("cluster %s: lookup by %s set up in %d databases by %s", cluster.pk, role, len(databases), author)
    return check(cluster)


def extend(cluster: Cluster, database: str) -> None:
    """Add the lookup to a database that the panel has just created, where the cluster has one.

    A failure is logged only: the database is there, and the first pool of the inbound user names the remedy.
    """
    if not cluster.auth_role:
        return
    grant = sql.SQL("GRANT CONNECT ON DATABASE {} TO {}")
    try:
        with session(cluster, database, field="name") as connection:
            connection.execute(WRITABLE)
            with connection.transaction():
                connection.execute(grant.format(sql.Identifier(database), sql.Identifier(cluster.auth_role)))
                _make_function(connection, cluster.auth_role)
    except PoolsError as error:
        logger.warning("cluster %s: the lookup is not set up in new database %r: %s", cluster.pk, database, error)


def check(cluster: Cluster) -> list[Finding]:
    """Check each database of the cluster: the function as the admin, and a lookup as the role.

    Return an empty list where no lookup was set up. Raises `ClusterUnreachable`.
    """
    if not cluster.auth_role:
        return []
    with session(cluster) as connection:
        databases = [str(row[0]) for row in connection.execute(DATABASES)]
        rights = connection.execute(RIGHTS, [cluster.auth_role]).fetchone()
    if rights is None:
        fault = _("the role %(role)s is gone: set it up again") % {"role": cluster.auth_role}
        return [Finding(database, fault) for database in databases]
    if not rights[0]:
        text = _("%(role)s has more rights than to log in: revoke them, or set it up again")
        fault = text % {"role": cluster.auth_role}
        return [Finding(database, fault) for database in databases]
    return [Finding(database, _fault(cluster, database)) for database in databases]


@recorded("cluster.uninstall_auth_query")
def uninstall(cluster: Cluster, author: Model | None = None) -> None:
    """Drop the function everywhere and the role; refused while pools of the inbound user lead to the cluster."""
    role = cluster.auth_role
    if not role:
        raise IllegalTransition(
            _("cluster %(cluster)s has no look-up of inbound users to remove") % {"cluster": cluster}
        )
    asking = list(cluster.pools.filter(user="").order_by("name").values_list("name", flat=True)[:6])
    if asking:
        text = _("inbound users of %(pools)s are looked up by it: remove these pools, or give each a fixed user")
        raise IllegalTransition(text % {"pools": ", ".join(asking)})
    with session(cluster) as connection:
        databases = [str(row[0]) for row in connection.execute(DATABASES)]
    for database in databases:
        with session(cluster, database) as connection:
            connection.execute(WRITABLE)
            with connection.transaction():
                _drop_function(connection, role)
    with session(cluster) as connection:
        connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(role)))
    with transaction.atomic():
        cluster.role_passwords.filter(role=role).delete()
        cluster.edit(None, auth_role="")
    logger.info("cluster %s: lookup by %s removed by %s", cluster.pk, role, author)


def _role_problems(cluster: Cluster, role: str) -> Iterator[tuple[str, str]]:
    if message := identifiers.identifier_problem(role):
        yield "role", message
    elif role == cluster.admin_user:
        text = _("%(role)s is the panel's own login, which may do everything: choose another name")
        yield "role", text % {"role": role}
    elif role.startswith("pg_"):
        text = _("%(role)s: PostgreSQL reserves names that begin with pg_, choose another")
        yield "role", text % {"role": role}
    if cluster.auth_role and role != cluster.auth_role:
        text = _("%(role)s already looks up inbound users: remove that first")
        yield "role", text % {"role": cluster.auth_role}


def _refuse_all_but_superusers(cluster: Cluster, connection: connect.Connection) -> None:
    row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not (row and row[0]):
        text = _(
            "%(role)r on %(cluster)s is not a superuser, and only a superuser can read the secrets in pg_authid: "
            "let the cluster's login be one, or give each pool a fixed user"
        )
        raise IllegalTransition(text % {"role": cluster.admin_user, "cluster": cluster})


def _make_role(connection: connect.Connection, role: str, password: str, *, ours: bool) -> None:
    """Create or repair a role that may log in and nothing more; an existing one must be the panel's own."""
    found = connection.execute(RIGHTS, [role]).fetchone()
    rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS VALID UNTIL 'infinity'"
    if found is not None and not (ours and found[0]):
        if ours:
            text = _("there is already a role %(role)s, which has more rights than to log in: choose another name")
        else:
            text = _("there is already a role %(role)s, whose password this panel doesn't know: choose another name")
        raise InvalidValues({"role": [text % {"role": role}]})
    verb = sql.SQL("ALTER ROLE" if found else "CREATE ROLE")
    secret = sql.Literal(passwords.hashed(connection, role, password))
    connection.execute(sql.SQL("{} {} {} PASSWORD {}").format(verb, sql.Identifier(role), sql.SQL(rights), secret))


def _make_function(connection: connect.Connection, role: str) -> None:
    """Create the schema and the function in this database, owned by the panel's login, callable by the role alone."""
    who, schema = sql.Identifier(role), sql.Identifier(auth_query.SCHEMA)
    statements = [
        sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema),
        sql.SQL("REVOKE ALL ON SCHEMA {} FROM PUBLIC").format(schema),
        sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, who),
        sql.SQL("DROP FUNCTION IF EXISTS {}").format(SIGNATURE),
        sql.SQL(
            "CREATE FUNCTION {}.{} (username text) RETURNS TABLE (usename name, passwd text) "
            "LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {} AS {}"
        ).format(
            schema, sql.Identifier(auth_query.FUNCTION), sql.SQL(auth_query.SEARCH_PATH), sql.Literal(_body(role))
        ),
        sql.SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(SIGNATURE),
        sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(SIGNATURE, who),
    ]
    for statement in statements:
        connection.execute(statement)


def _drop_function(connection: connect.Connection, role: str) -> None:
    """Drop the function and the role's privileges in this database, and the schema if it is empty."""
    schema = sql.Identifier(auth_query.SCHEMA)
    connection.execute(sql.SQL("DROP FUNCTION IF EXISTS {}").format(SIGNATURE))
    if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchall():
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
    empty = """
        SELECT FROM pg_namespace n WHERE nspname = %s
           AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid)
           AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = n.oid)
           AND NOT EXISTS (SELECT FROM pg_type t WHERE t.typnamespace = n.oid)
    """
    if connection.execute(empty, [auth_query.SCHEMA]).fetchall():
        connection.execute(sql.SQL("DROP SCHEMA {}").format(schema))


def _body(role: str) -> str:
    return sql.SQL(auth_query.BODY).format(role=sql.Literal(role)).as_string()


def _remember(cluster: Cluster, role: str, password: str) -> None:
    known = cluster.role_passwords.filter(role=role).first() or cluster.role_passwords.model(cluster=cluster, role=role)
    known.password = password
    known.save()


def _keep(cluster: Cluster, role: str, author: Model | None) -> None:
    """Record the role, and apply the inbound pools again: they log in with a new password."""
    with transaction.atomic():
        if cluster.auth_role != role:
            cluster.edit(None, auth_role=role)
        task_queue.ask_again(cluster.pools.wanted().filter(user=""), author)


def _fault(cluster: Cluster, database: str) -> str:
    """Return why inbound users can't be looked up in this database, or an empty text."""
    try:
        with session(cluster, database) as connection:
            found, sample = _function(connection), connection.execute(SAMPLE, [cluster.auth_role]).fetchall()
        if fault := _fault_of(found, cluster.auth_role):
            return _("%(fault)s: set it up again") % {"fault": fault}
        with connect.connect(cluster, database=database, user=cluster.auth_role) as connection:
            if not auth_query.may_ask(connection):
                return _("%(role)s may not call the function: set it up again") % {"role": cluster.auth_role}
            for name, secret in sample:
                if connection.execute(auth_query.QUERY.replace("$1", "%s"), [name]).fetchall() != [(name, secret)]:
                    text = _("the function does not return the secret of %(role)s: set it up again")
                    return text % {"role": name}
    except PoolsError as error:
        return str(error)
    return ""


def _function(connection: connect.Connection) -> Function | None:
    with connection.cursor(row_factory=class_row(Function)) as cursor:
        return cursor.execute(FOUND, [f"{auth_query.SCHEMA}.{auth_query.FUNCTION}(text)"]).fetchone()


def _fault_of(found: Function | None, role: str) -> str:
    if found is None:
        return _("the function is not there")
    if found.body != _body(role):
        return _("the function was changed")
    if not found.as_owner or not found.owner_is_superuser:
        return _("the function does not run as a superuser")
    if found.settings != [f"search_path={auth_query.SEARCH_PATH}"]:
        return _("the function's search_path is not the fixed one")
    return _("everybody may call the function") if found.public_may_call else ""
