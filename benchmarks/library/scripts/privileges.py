"""Checks who may run a user's script: no role through which SQL reaches programs or files of the database's host.

A script may write, so a protected cluster requires the database's name, as it does for a built-in script that writes.
"""

import psycopg
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import sql

from benchmarks.errors import Refused
from benchmarks.models import Run
from benchmarks.models.options import RunOptions
from benchmarks.targets import resolve
from benchmarks.targets.resolve import OpenSession, Target
from pools.clusters import connect

REACHING_THE_HOST = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")
CREATEROLE_TAMED = 160_000  # Since 16 a role with CREATEROLE can't make itself a member of these roles.
STATEMENT_TIMEOUT_MS = 15_000

# MEMBER: whether it could become that role by SET ROLE; true of itself, and of every role for a superuser.
_REACHED = """
    SELECT r.rolname, r.rolsuper FROM pg_roles r
    WHERE (r.rolsuper OR r.rolname = ANY(%(reaching)s)) AND pg_has_role(%(login)s, r.oid, 'MEMBER')
    ORDER BY r.rolname <> %(login)s, r.rolsuper DESC, r.rolname LIMIT 1
"""
_MAKES_ROLES = "SELECT rolcreaterole FROM pg_roles WHERE rolname = %s"
_SUPERUSER = gettext_lazy(
    "role %(role)s is a superuser, so a script of your own could start programs and read files on the host of "
    "%(place)s: choose a role without such rights"
)
_MEMBER = gettext_lazy(
    "role %(role)s is a member of %(right)s, so a script of your own could start programs and read files on the host "
    "of %(place)s: choose a role without such rights"
)
_MAKES_ITSELF_MEMBER = gettext_lazy(
    "role %(role)s may make itself a member of %(right)s (CREATEROLE, before PostgreSQL 16), so a script of your own "
    "could start programs and read files on the host of %(place)s: choose a role without such rights"
)


def guard(target: Target, options: RunOptions, confirm: str, session: OpenSession) -> None:
    """Refuse a run with a user's script that could reach the server's host, or write without confirmation.

    `session` is one of the panel's admin; an external endpoint is asked through itself. Raises `Refused`, and
    `ClusterUnreachable` (of the pools app).
    """
    if not _is_users(options):
        return
    if target.is_protected and confirm != target.database:
        if target.cluster:
            text = _(
                "cluster %(place)s is protected and a script of your own may write to it: "
                "type the database's name, %(database)s, to go on"
            )
        else:
            text = _(
                "no cluster is registered behind %(place)s and a script of your own may write to it: "
                "type the database's name, %(database)s, to go on"
            )
        raise Refused(text % {"place": target.place, "database": target.database})
    if target.external is not None:
        return refuse_reaching(target)
    if refusal := _why_reaching(target, session()):
        raise Refused(refusal)


def guard_started(run: Run) -> None:
    """Check the role once more, right before the script is given to the program."""
    if _is_users(run.options) and (run.cluster is not None or run.external is not None):
        refuse_reaching(resolve.of_run(run))


def _is_users(options: RunOptions) -> bool:
    """Test whether SQL is sent that is not the load program's own: pgbench scripts, a JMeter plan."""
    return bool(options.get("scripts") or options.get("plan"))


def refuse_reaching(target: Target) -> None:
    """Raise `Refused` where SQL of this role could start programs or read and write files on the server's host."""
    with resolve.session(target) as connection:
        refusal = _why_reaching(target, connection)
    if refusal:
        raise Refused(refusal)


def _why_reaching(target: Target, connection: connect.Connection) -> str:
    """Return why the load's role could reach the server's host; empty where it can't."""
    login = target.login
    try:
        if target.external is not None:  # a pooler may log in as another role than it was asked for
            row = connection.execute("SELECT current_user").fetchone()
            login = row[0] if row else login
        else:  # A pooler would pass the setting on to its next client.
            connection.execute(sql.SQL("SET statement_timeout = {}").format(STATEMENT_TIMEOUT_MS))
        reached = connection.execute(_REACHED, {"reaching": list(REACHING_THE_HOST), "login": login}).fetchone()
        makes = connection.execute(_MAKES_ROLES, (login,)).fetchone()
    except psycopg.errors.UndefinedObject:
        raise Refused(
            _("there is no role %(login)s on %(place)s: choose another") % {"login": login, "place": target.place}
        ) from None
    except psycopg.Error as error:
        raise Refused(
            _("the rights of role %(role)s on %(place)s can't be read: %(error)s")
            % {"place": target.place, "role": login, "error": str(error).splitlines()[0]}
        ) from None
    text, right = _rights(login, reached, makes, connection.info.server_version)
    return str(text) % {"role": login, "right": right, "place": target.place}


def _rights(
    login: str, reached: tuple[str, bool] | None, makes: tuple[bool] | None, version: int
) -> tuple[str | Promise, str]:
    """Return the text of the refusal and the role that reaches the host; empty texts where none does."""
    if reached:
        name, is_superuser = reached
        return (_SUPERUSER if name == login and is_superuser else _MEMBER), name
    if makes and makes[0] and version < CREATEROLE_TAMED:
        return _MAKES_ITSELF_MEMBER, REACHING_THE_HOST[0]
    return "", ""
