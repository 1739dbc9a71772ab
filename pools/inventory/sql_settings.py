"""What runs as a role of a cluster, and so needs a right: SQL in settings, and pools of a fixed user.

SQL in a setting runs as every role whose connections use the setting; whoever may log in to a pool works as its user.

`COPY (SELECT 1) TO PROGRAM …` as the first query of a superuser's pool is a command on the database host.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.clusters import connect
from pools.errors import ClusterUnreachable, InvalidValues
from pools.inventory.pooler_settings_validation import Values
from pools.models import Cluster, ClusterStatus, Pool, Pooler
from pools.poolers import KINDS
from pools.poolers.settings_schema import Scope

Problems = Iterator[tuple[str, str]]
Runner = tuple[Cluster, str]  # a role of a cluster; an empty one: each client's own

_HARMLESS_STATEMENT = re.compile(
    r"""
    | (select (\ [0-9]{1,9})?)?
    | abort | rollback | discard\ (all|plans|temp|temporary|sequences) | reset\ all | deallocate\ all | close\ all
    | unlisten\ \* | reset\ session\ authorization | set\ session\ authorization\ default
    | set\ (session\ )?
      (statement_timeout|lock_timeout|idle_in_transaction_session_timeout|application_name|timezone|datestyle
      |client_encoding|extra_float_digits|intervalstyle|jit|default_transaction_isolation)
      \ ?(=|\ to\ )\ ?([\w.+:-]+|'[^'\\;]*')
    """,
    re.VERBOSE | re.IGNORECASE,
)
_POWERFUL = """
    SELECT r.rolname FROM pg_roles r WHERE EXISTS (
        SELECT FROM pg_roles s WHERE pg_has_role(r.oid, s.oid, 'MEMBER') AND (s.rolsuper OR s.rolreplication
            OR (s.rolcreaterole AND current_setting('server_version_num')::int < 160000)
            OR s.rolname = ANY(ARRAY['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files']))
    )
"""


_SUPERUSERS_TOO = gettext_lazy(
    "%(setting)s runs SQL as every role that logs in to cluster %(cluster)s, superusers included: "
    "only a person may set it, in the browser, with their own password"
)
_UNKNOWN_ROLE = gettext_lazy(
    "%(setting)s runs SQL as %(role)s of cluster %(cluster)s, which can't be asked whether that is a superuser: "
    "only a person may set it, in the browser, with their own password"
)
_AS_SUPERUSER = gettext_lazy(
    "%(setting)s runs SQL as %(role)s, which is as good as a superuser on cluster %(cluster)s: "
    "only a person may set it, in the browser, with their own password"
)


_POOL_OF_SUPERUSER = gettext_lazy(
    "%(role)s is as good as a superuser on cluster %(cluster)s, and every user of the pool would work as it: only a "
    "person with the scope admin may make it, in the browser, with their own password"
)
_POOL_OF_UNKNOWN = gettext_lazy(
    "cluster %(cluster)s can't be asked whether %(role)s is as good as a superuser: try again once it answers, or make "
    "the pool in the browser, with your own password"
)


class SqlRight(IntEnum):
    """The SQL that a user may make a pooler run through a setting."""

    NONE = 0  # no SQL but what is known to be harmless
    ORDINARY = 1  # SQL that runs as roles other than superusers, with the scope admin
    ANY = 2  # a person who entered their own password recently, or the panel itself


class NotAllowed(InvalidValues):
    """The setting needs a right that the user lacks."""

    status = 403


def refuse_for_pool(spec: Pool, existing: Pool | None, right: SqlRight) -> None:
    """Raise `NotAllowed` where the pool's SQL is beyond the right, and is new or runs as another role than before."""
    before = existing.settings if existing and _runs_alike(spec, existing) else {}
    new_sql = _new_sql(spec.pooler, Scope.POOL, spec.settings, before) if right < SqlRight.ANY else []
    runner = {name: _does_lookup(spec) if name == "auth_query" else spec.user for name in new_sql}
    problems = (problem for name in new_sql for problem in _problems(name, [(spec.cluster, runner[name])], right))
    NotAllowed.refuse(("settings", message) for _, message in problems)


def refuse_powerful(spec: Pool, existing: Pool | None, right: SqlRight) -> None:
    """Raise `NotAllowed` for a pool whose clients would work as a role that is as good as a superuser.

    Asked where the pool is new, or its role or those who may log in are. Only a pooler that logs in to the server
    itself gives a role away; behind others clients prove themselves to the server.
    """
    is_new = existing is None or not _runs_alike(spec, existing) or spec.allowed_users != existing.allowed_users
    if right < SqlRight.ANY and is_new and spec.user and KINDS[spec.pooler.kind].admits_others:
        NotAllowed.refuse(("user", message) for message in [_power_of(spec.cluster, spec.user)] if message)


def _power_of(cluster: Cluster, role: str) -> str:
    """Return why a pool of this role needs a person; empty where it does not. A silent cluster is as last checked."""
    params = {"cluster": cluster, "role": role}
    powerful = _powerful_roles(cluster)
    if powerful is None:
        roles = ClusterStatus.objects.filter(cluster=cluster).values_list("roles", flat=True).first() or []
        is_ordinary = any(one["name"] == role and not one.get("superuser", True) for one in roles)
        return "" if is_ordinary else _POOL_OF_UNKNOWN % params
    return _POOL_OF_SUPERUSER % params if role in powerful else ""


def _powerful_roles(cluster: Cluster) -> set[str] | None:
    """Return the roles that are as good as a superuser; None where the cluster can't be asked."""
    try:
        with connect.connect(cluster) as connection:
            return {rolname for (rolname,) in connection.execute(_POWERFUL)}
    except (ClusterUnreachable, psycopg.Error):
        return None


def refuse_for_program(pooler: Pooler, merged: Values, right: SqlRight) -> None:
    """Raise `NotAllowed` for SQL of the whole program, which runs as every role of its pools; errors are by setting."""
    new_sql = _new_sql(pooler, Scope.PROGRAM, merged, pooler.settings) if right < SqlRight.ANY else []
    if not new_sql:
        return
    runners = {(pool.cluster, pool.user) for pool in pooler.pools.wanted().select_related("cluster")}
    NotAllowed.refuse(problem for name in new_sql for problem in _problems(name, runners, right))


def _runs_alike(spec: Pool, existing: Pool) -> bool:
    return (spec.cluster_id, spec.user, spec.database) == (existing.cluster_id, existing.user, existing.database)


def _does_lookup(spec: Pool) -> str:
    return spec.cluster.auth_role or spec.cluster.admin_user


def _new_sql(pooler: Pooler, scope: Scope, given: Mapping[str, object], before: Mapping[str, object]) -> list[str]:
    """Return the names of the settings whose SQL changed and is not known to be harmless."""
    carrying = {one.name for one in KINDS[pooler.kind].catalog if one.scope == scope and one.carries_sql}
    return [
        name
        for name in sorted(carrying & given.keys())
        if given[name] != before.get(name) and not is_harmless(str(given[name]))
    ]


def is_harmless(sql: str) -> bool:
    """Return whether each statement is on a list of those that only change their own session."""
    statements = (" ".join(statement.split()) for statement in sql.split(";"))
    return all(_HARMLESS_STATEMENT.fullmatch(statement) for statement in statements)


def _problems(name: str, runners: Iterable[Runner], right: SqlRight) -> Problems:
    if right == SqlRight.NONE:
        yield name, _("%(setting)s runs SQL as the pool's role: that needs the scope admin") % {"setting": name}
        return
    for message in filter(None, (_powerful_message(name, *runner) for runner in runners)):
        yield name, message
        return


def _powerful_message(name: str, cluster: Cluster, role: str) -> str:
    """Return why SQL of that role may reach the server's host, or an empty text where it may not."""
    params = {"setting": name, "cluster": cluster, "role": role}
    if not role:
        return _SUPERUSERS_TOO % params
    if (powerful := _powerful_roles(cluster)) is None:
        return _UNKNOWN_ROLE % params
    return _AS_SUPERUSER % params if role in powerful else ""
