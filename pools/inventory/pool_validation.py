"""Validates a pool: by its own values, then on the live server (its database and role exist, the password works)."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pools.clusters import connect, topology
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable
from pools.inventory import connection_limits
from pools.inventory.connection_limits import Limits
from pools.models import EVERYONE, Cluster, ClusterStatus, Mode, NodeRole, Pool, Pooler, identifiers
from pools.poolers import KINDS, driver
from pools.poolers.base import Problems

DATABASES = "SELECT datname, datconnlimit FROM pg_database WHERE NOT datistemplate ORDER BY 1"
ROLES = "SELECT rolname, rolcanlogin, rolsuper, rolconnlimit FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1"
LARGEST_SIZE = 100_000  # far beyond any max_connections (at most 262,143), within every column
FIELD_OF_CAUSE = {
    Cause.NO_DATABASE: "database",
    Cause.NO_PRIVILEGE: "user",
    Cause.NO_ROLE: "user",
    Cause.NO_LOGIN: "user",
}

# The key says whether the cluster was queried now, or at its last check.
_NO_DATABASE: dict[bool, Promise] = {
    True: gettext_lazy(
        "there is no database %(database)r on cluster %(cluster)s now (it has %(existing)s): "
        "create it or choose another"
    ),
    False: gettext_lazy(
        "there is no database %(database)r on cluster %(cluster)s at the last check (it has %(existing)s): "
        "create it or choose another"
    ),
}
_NO_ROLE: dict[bool, Promise] = {
    True: gettext_lazy(
        "there is no role %(role)r on cluster %(cluster)s now (it has %(existing)s): create it or choose another"
    ),
    False: gettext_lazy(
        "there is no role %(role)r on cluster %(cluster)s at the last check (it has %(existing)s): "
        "create it or choose another"
    ),
}
_NO_LOGIN: dict[bool, Promise] = {
    True: gettext_lazy("role %(role)r may not log in on cluster %(cluster)s now: give it LOGIN or choose another"),
    False: gettext_lazy(
        "role %(role)r may not log in on cluster %(cluster)s at the last check: give it LOGIN or choose another"
    ),
}


@dataclass(frozen=True)
class ClusterCatalog:
    """The databases and the roles (name → may log in) of a cluster, read now (`is_live`) or by the last check.

    `limits_of_databases` and `limits_of_roles` are their CONNECTION LIMITs by name; none for superusers.
    """

    databases: list[str]
    roles: dict[str, bool]
    is_live: bool
    limits_of_databases: Mapping[str, int]
    limits_of_roles: Mapping[str, int]
    superusers: Collection[str]

    def limits(self, role: str, database: str) -> Limits:
        """Return the limits that apply to a role's connections to a database."""
        if role in self.superusers:
            return Limits()
        none = connection_limits.NONE
        return Limits(self.limits_of_roles.get(role, none), self.limits_of_databases.get(database, none))


def problems(spec: Pool) -> Problems:
    """Yield (field, message) for every invalid value of an unsaved pool; queries no server."""
    if spec.pooler.is_watched:
        text = _("pooler %(pooler)s is only watched, so it takes no pool of the panel: take it over first")
        yield "pooler", text % {"pooler": spec.pooler}
        return
    yield from value_problems({name: getattr(spec, name) for name in _VALUE_CHECKS})
    yield from _target_problems(spec)
    yield from _allowed_users_problems(spec)
    if spec.mode not in Mode.values:
        text = _("%(mode)r is not a pool mode: choose one of %(choices)s")
        yield "mode", text % {"mode": spec.mode, "choices": ", ".join(Mode.values)}
    if not isinstance(spec.settings, dict):
        text = _("%(settings)r is not an object of settings: send names and values")
        yield "settings", text % {"settings": spec.settings}
    else:
        yield from KINDS[spec.pooler.kind].problems(spec)
    if spec.through and spec.through != spec.pooler:
        yield from _chain_problems(spec, spec.through)


def value_problems(values: Mapping[str, Any]) -> Problems:
    """Yield (field, message) for a name, database, user or size that no pool can have; others are not looked at."""
    for field, problem_of in _VALUE_CHECKS.items():
        if field in values and (message := problem_of(values[field])):
            yield field, message


def catalog_of(cluster: Cluster) -> ClusterCatalog | None:
    """Query the cluster, or use its last successful check; None where it has neither."""
    try:
        return _ask(cluster)
    except (ClusterUnreachable, psycopg.Error):
        return _last_check(cluster)


def server_problems(spec: Pool, user_password: str, before: Pool | None = None) -> Problems:
    """Yield (field, message) for a missing database or user, a limit below the size, and a missing or wrong password.

    `before` is the pool that is changed: a limit that it exceeded already forbids no other change.

    Where the cluster was never reached, its databases and roles are unknown, and any pass: the pool stays pending
    until the cluster answers.
    """
    found = catalog_of(spec.cluster)
    missing = list(_missing(spec, found)) if found else []
    yield from missing
    if found and not missing and connection_limits.asks_for_more(spec, before):
        limits = found.limits(driver(spec.pooler).probing_role(spec), spec.database)
        yield from (("size", fault) for fault in connection_limits.faults(spec, limits))
    if spec.user and not missing:
        yield from _password_problems(spec, user_password)


def _target_problems(spec: Pool) -> Problems:
    """Yield problems of the target: a known standby, and a pooler that does not spread reads itself."""
    if spec.target not in NodeRole.values:
        text = _("%(target)r is not a target: choose one of %(choices)s")
        yield "target", text % {"target": spec.target, "choices": ", ".join(NodeRole.values)}
    elif spec.target != NodeRole.STANDBY:
        return
    elif spec.through_id or driver(spec.pooler).leads_to_all_nodes:
        yield "target", _("a Pgpool-II spreads reads over the standbys by itself: let the pool route to the primary")
    elif not topology.standbys(spec.cluster):
        text = _("cluster %(cluster)s has no standby that the panel knows: add it among the cluster's nodes")
        yield "target", text % {"cluster": spec.cluster}


def written_users(given: str | list[str] | None) -> str:
    """Return role names as a pool keeps them, sorted and one a line; `given` is a list of them, or such a text."""
    names = given.split("\n") if isinstance(given, str) else given or []
    return "\n".join(sorted({str(name).strip() for name in names} - {""}))


def _allowed_users_problems(spec: Pool) -> Problems:
    names = spec.allowed_users.split("\n") if spec.allowed_users else []
    if names and not driver(spec.pooler).admits_others:
        text = _("pooler %(pooler)s is not a PgBouncer, and lets in a pool's own user only: leave it empty")
        yield "allowed_users", text % {"pooler": spec.pooler}
    elif EVERYONE in names and len(names) > 1:
        yield "allowed_users", _("%(everyone)s admits everyone: leave the other names out") % {"everyone": EVERYONE}
    for name in names:
        if message := identifiers.identifier_problem(name):
            yield "allowed_users", message


def _size_problem(size: object) -> str:
    if not isinstance(size, int) or isinstance(size, bool):
        return _("a whole number of server connections is needed: at least 1")
    if not 1 <= size <= LARGEST_SIZE:
        text = _("%(size)s is not a pool size: enter 1 to %(largest)s, within the cluster's budget")
        return text % {"size": size, "largest": LARGEST_SIZE}
    return ""


def _user_problem(user: str) -> str:
    return identifiers.identifier_problem(user) if user else ""  # empty: each client logs in as itself


_VALUE_CHECKS: dict[str, Callable[[Any], str]] = {
    "name": identifiers.pool_name_problem,
    "database": identifiers.identifier_problem,
    "user": _user_problem,
    "size": _size_problem,
}


def _chain_problems(spec: Pool, through: Pooler) -> Problems:
    """Yield problems of a chain: the Pgpool-II needs a pool of the same database and user, and enough children."""
    if not driver(through).is_chainable:
        text = _("pooler %(pooler)s is not a Pgpool-II: leave it empty, since a PgBouncer routes to its servers itself")
        yield "through", text % {"pooler": through}
        return
    admitted = through.pools.wanted().filter(cluster=spec.cluster_id, database=spec.database)
    if not any(one.user in ("", spec.login) for one in admitted):
        if spec.login:
            text = _(
                "pooler %(pooler)s has no pool that lets %(role)r in to database %(database)r of cluster %(cluster)s: "
                "create it there first"
            )
        else:
            text = _(
                "pooler %(pooler)s has no pool that lets every role in to database %(database)r of cluster "
                "%(cluster)s: create it there first"
            )
        params = {"pooler": through, "role": spec.login, "database": spec.database, "cluster": spec.cluster}
        yield "through", text % params
    children = KINDS[through.kind].usual_size(through)
    if children and isinstance(spec.size, int) and spec.size > children:
        text = _("size %(size)s is more than the %(children)s children of pooler %(pooler)s: the rest would wait")
        yield "size", text % {"size": spec.size, "children": children, "pooler": through}


def _ask(cluster: Cluster) -> ClusterCatalog:
    with connect.connect(cluster) as connection:
        databases = connection.execute(DATABASES).fetchall()
        roles = connection.execute(ROLES).fetchall()
    return ClusterCatalog(
        [name for name, _limit in databases],
        {name: can_login for name, can_login, _superuser, _limit in roles},
        is_live=True,
        limits_of_databases=dict(databases),
        limits_of_roles={name: limit for name, _can_login, _superuser, limit in roles},
        superusers=frozenset(name for name, _can_login, superuser, _limit in roles if superuser),
    )


def _last_check(cluster: Cluster) -> ClusterCatalog | None:
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    if status is None or status.server_version_num is None:
        return None
    return ClusterCatalog(
        [database["name"] for database in status.databases],
        {role["name"]: role["can_login"] for role in status.roles},
        is_live=False,
        limits_of_databases=_limits_in(status.databases),
        limits_of_roles=_limits_in(status.roles),
        superusers=frozenset(role["name"] for role in status.roles if role.get("superuser")),
    )


def _limits_in(checked: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the limits that the last check recorded, by name; records of older checks have none."""
    return {one["name"]: one.get("connection_limit", connection_limits.NONE) for one in checked}


def _missing(spec: Pool, found: ClusterCatalog) -> Problems:
    params = {"cluster": spec.cluster, "database": spec.database, "role": spec.user}
    if spec.database not in found.databases:
        yield "database", _NO_DATABASE[found.is_live] % {**params, "existing": _listed(found.databases)}
    if spec.user and spec.user not in found.roles:
        existing = _listed(name for name, can_login in found.roles.items() if can_login)
        yield "user", _NO_ROLE[found.is_live] % {**params, "existing": existing}
    elif spec.user and not found.roles[spec.user]:
        yield "user", _NO_LOGIN[found.is_live] % params


def _listed(all_names: Iterable[str], most: int = 8) -> str:
    listed = list(all_names)
    names = ", ".join(listed[:most])
    if (more := len(listed) - most) > 0:
        text = ngettext("%(names)s and %(count)s more", "%(names)s and %(count)s more", more)
        return text % {"names": names, "count": more}
    return names or _("none")


def _password_problems(spec: Pool, user_password: str) -> Problems:
    stored = spec.cluster.password_of(spec.user)
    is_admin = spec.user == spec.cluster.admin_user
    if message := identifiers.password_problem(user_password or stored or ""):
        yield "user_password", message
    elif not user_password and not stored:
        text = _("the password of role %(role)r on cluster %(cluster)s is not known: enter it")
        yield "user_password", text % {"role": spec.user, "cluster": spec.cluster}
    elif is_admin and user_password not in ("", stored):
        text = _("%(role)r is the admin login of cluster %(cluster)s: change its password there")
        yield "user_password", text % {"role": spec.user, "cluster": spec.cluster}
    elif user_password and not is_admin:
        yield from _login_problems(spec, user_password)


def _login_problems(spec: Pool, user_password: str) -> Problems:
    try:
        connect.connect(spec.cluster, database=spec.database, user=spec.user, password=user_password).close()
    except ClusterUnreachable as error:
        field = FIELD_OF_CAUSE.get(Cause(error.cause), "user_password")
        if field == "user_password" and error.cause != Cause.PASSWORD:
            yield field, _("the password could not be tried: %(error)s") % {"error": error}
        else:
            yield field, str(error)
