"""Settings that carry SQL: who sets one runs it as every role whose connections it touches, so the right to is asked.

`COPY (SELECT 1) TO PROGRAM …` as the first query of a superuser's pool is a command on the database host.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

import psycopg

from pools.clusters import connect
from pools.errors import ClusterUnreachable, InvalidValues
from pools.inventory.pooler_settings_validation import Values
from pools.models import Cluster, Pool, Pooler
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
        SELECT FROM pg_roles s WHERE pg_has_role(r.oid, s.oid, 'MEMBER') AND (s.rolsuper OR s.rolname = ANY(
            ARRAY['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files']))
    )
"""


class SqlRight(IntEnum):
    """Which SQL somebody may have run by a pooler, by the setting of it."""

    NONE = 0  # but what is known to be harmless
    ORDINARY = 1  # as roles that are no superusers: the scope admin
    ANY = 2  # a person who gave their own password lately, or the panel itself


class NotAllowed(InvalidValues):
    """The setting asks for a right that whoever sets it lacks."""

    status = 403


def refuse_for_pool(spec: Pool, pool_set: Pool | None, right: SqlRight) -> None:
    """Raise `NotAllowed` where the pool carries SQL that is new, or newly run as somebody else, beyond the right."""
    before = pool_set.settings if pool_set and _runs_alike(spec, pool_set) else {}
    given = _new_sql(spec.pooler, Scope.POOL, spec.settings, before) if right < SqlRight.ANY else []
    runner = {name: _does_lookup(spec) if name == "auth_query" else spec.user for name in given}
    problems = (problem for name in given for problem in _problems(name, [(spec.cluster, runner[name])], right))
    NotAllowed.refuse(("settings", message) for _, message in problems)


def refuse_for_program(pooler: Pooler, merged: Values, right: SqlRight) -> None:
    """The same for settings of the whole program, which run as every role of its pools; errors are by setting."""
    given = _new_sql(pooler, Scope.PROGRAM, merged, pooler.settings) if right < SqlRight.ANY else []
    if not given:
        return
    runners = {(pool.cluster, pool.user) for pool in pooler.pools.wanted().select_related("cluster")}
    NotAllowed.refuse(problem for name in given for problem in _problems(name, runners, right))


def _runs_alike(spec: Pool, pool_set: Pool) -> bool:
    return (spec.cluster_id, spec.user, spec.database) == (pool_set.cluster_id, pool_set.user, pool_set.database)


def _does_lookup(spec: Pool) -> str:
    return spec.cluster.auth_role or spec.cluster.admin_user


def _new_sql(pooler: Pooler, scope: Scope, given: Mapping[str, object], before: Mapping[str, object]) -> list[str]:
    """The names of the settings whose SQL differs from before and is not known to be harmless."""
    carrying = {one.name for one in KINDS[pooler.kind].catalogue if one.scope == scope and one.carries_sql}
    return [
        name
        for name in sorted(carrying & given.keys())
        if given[name] != before.get(name) and not is_harmless(str(given[name]))
    ]


def is_harmless(sql: str) -> bool:
    """Whether each statement is one of a list that changes nothing but the session it is run in."""
    statements = (" ".join(statement.split()) for statement in sql.split(";"))
    return all(_HARMLESS_STATEMENT.fullmatch(statement) for statement in statements)


def _problems(name: str, runners: Iterable[Runner], right: SqlRight) -> Problems:
    if right == SqlRight.NONE:
        yield name, f"{name} runs SQL as the pool's role: that asks for the scope admin"
        return
    for reason in filter(None, (_why_powerful(*runner) for runner in runners)):
        yield name, f"{name} runs SQL as {reason}: only a person may set it, in the browser, with their own password"
        return


def _why_powerful(cluster: Cluster, role: str) -> str:
    """Why SQL of that role may reach the server's host; empty where it may not."""
    if not role:
        return f"whoever logs in to cluster {cluster}, superusers too"
    try:
        with connect.connect(cluster) as connection:
            powerful = {name for (name,) in connection.execute(_POWERFUL)}
    except (ClusterUnreachable, psycopg.Error):
        return f"{role} of cluster {cluster}, which can't be asked whether that is a superuser"
    return f"{role}, which is as good as a superuser on cluster {cluster}" if role in powerful else ""
