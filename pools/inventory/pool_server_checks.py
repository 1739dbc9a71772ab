"""Asks the cluster whether what a pool leads to is there, and whether its user's password opens the door."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import psycopg

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


@dataclass(frozen=True)
class Known:
    """The databases and the roles (name → may log in) of a cluster; `source` says since when that is known."""

    databases: list[str]
    roles: dict[str, bool]
    source: str


def known(cluster: Cluster) -> Known | None:
    """What the cluster says now, else what its last good check said; None when there never was one."""
    try:
        return _ask(cluster)
    except (ClusterUnreachable, psycopg.Error):
        return _last_check(cluster)


def problems(spec: Pool, user_password: str) -> Problems:
    """(field, message) for a database or user that is not there, or a password that is missing or wrong.

    Where the cluster was never reached, nothing can be said of its databases and roles, and they pass: the pool
    stays pending until the cluster answers.
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
        return Known([name for (name,) in databases], dict(roles.fetchall()), "now")


def _last_check(cluster: Cluster) -> Known | None:
    status = ClusterStatus.objects.filter(cluster=cluster).first()
    if status is None or status.server_version_num is None:
        return None
    return Known(
        [database["name"] for database in status.databases],
        {role["name"]: role["can_login"] for role in status.roles},
        "at the last check",
    )


def _missing(spec: Pool, found: Known) -> Problems:
    where = f"on cluster {spec.cluster} {found.source}"
    if spec.database not in found.databases:
        have = _listed(found.databases)
        yield "database", f"there is no database {spec.database!r} {where} (it has {have}): create it or choose another"
    if spec.user and spec.user not in found.roles:
        have = _listed(name for name, can_login in found.roles.items() if can_login)
        yield "user", f"there is no role {spec.user!r} {where} (it has {have}): create it or choose another"
    elif spec.user and not found.roles[spec.user]:
        yield "user", f"role {spec.user!r} may not log in {where}: give it LOGIN or choose another"


def _listed(all_names: Iterable[str], most: int = 8) -> str:
    listed = list(all_names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "") or "none"


def _password_problems(spec: Pool, user_password: str) -> Problems:
    stored = spec.cluster.password_of(spec.user)
    is_admin = spec.user == spec.cluster.admin_user
    if message := identifiers.password_problem(user_password or stored or ""):
        yield "user_password", message
    elif not user_password and not stored:
        yield "user_password", f"the password of role {spec.user!r} on cluster {spec.cluster} is not known: enter it"
    elif is_admin and user_password not in ("", stored):
        yield "user_password", f"{spec.user!r} is the admin login of cluster {spec.cluster}: change its password there"
    elif user_password and not is_admin:
        yield from _login_problems(spec, user_password)


def _login_problems(spec: Pool, user_password: str) -> Problems:
    try:
        connect.connect(spec.cluster, database=spec.database, user=spec.user, password=user_password).close()
    except ClusterUnreachable as error:
        field = FIELD_OF_CAUSE.get(Cause(error.cause), "user_password")
        tried = "" if error.cause == Cause.PASSWORD else "the password could not be tried: "
        yield field, f"{tried if field == 'user_password' else ''}{error}"
