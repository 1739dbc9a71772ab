"""Checks on the live server that the pool's database and role exist and that the password works."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psycopg
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from pools.clusters import connect
from pools.clusters.login_errors import Cause
from pools.errors import ClusterUnreachable
from pools.models import Cluster, ClusterStatus, Pool, identifiers

Problems = Iterator[tuple[str, str]]
FIELD_OF_CAUSE = {
    Cause.NO_DATABASE: "database",
    Cause.NO_PRIVILEGE: "user",
    Cause.NO_ROLE: "user",
    Cause.NO_LOGIN: "user",
}

# by whether the cluster was asked now (else: at its last check)
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
class Known:
    """The databases and the roles (name → may log in) of a cluster, read now (`is_live`) or by the last check."""

    databases: list[str]
    roles: dict[str, bool]
    is_live: bool


def known(cluster: Cluster) -> Known | None:
    """Return what the cluster reports now, else what its last good check found; None when there was none."""
    try:
        return _ask(cluster)
    except (ClusterUnreachable, psycopg.Error):
        return _last_check(cluster)


def problems(spec: Pool, user_password: str) -> Problems:
    """Yield (field, message) for a missing database or user, and for a missing or wrong password.

    Where the cluster was never reached, its databases and roles are unknown, and any pass: the pool stays pending
    until the cluster answers.
    """
    found = known(spec.cluster)
    missing = list(_missing(spec, found)) if found else []
    yield from missing
    if spec.user and not missing:
        yield from _password_problems(spec, user_password)


def _ask(cluster: Cluster) -> Known:
    with connect.connect(cluster) as connection:
        databases = connection.execute("SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1").fetchall()
        roles = connection.execute(r"SELECT rolname, rolcanlogin FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY 1")
        return Known([name for (name,) in databases], dict(roles.fetchall()), is_live=True)


def _last_check(cluster: Cluster) -> Known | None:
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    if status is None or status.server_version_num is None:
        return None
    return Known(
        [database["name"] for database in status.databases],
        {role["name"]: role["can_login"] for role in status.roles},
        is_live=False,
    )


def _missing(spec: Pool, found: Known) -> Problems:
    words = {"cluster": spec.cluster, "database": spec.database, "role": spec.user}
    if spec.database not in found.databases:
        yield "database", _NO_DATABASE[found.is_live] % {**words, "existing": _listed(found.databases)}
    if spec.user and spec.user not in found.roles:
        existing = _listed(name for name, can_login in found.roles.items() if can_login)
        yield "user", _NO_ROLE[found.is_live] % {**words, "existing": existing}
    elif spec.user and not found.roles[spec.user]:
        yield "user", _NO_LOGIN[found.is_live] % words


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
