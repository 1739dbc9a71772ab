"""The statements of a pool's database by what they cost, from pg_stat_statements, or how to get that extension."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg import sql

from pools.clusters import literals
from pools.clusters.topology import Place
from pools.diagnosis import sessions
from pools.diagnosis.sessions import Cursor

SHOWN = 25
EXTENSION = "pg_stat_statements"
ORDERS: dict[str, tuple[str | Promise, str]] = {
    "total": (gettext_lazy("Total time"), "total_ms"),
    "calls": (gettext_lazy("Calls"), "calls"),
    "mean": (gettext_lazy("Mean time"), "mean_ms"),
    "rows": (gettext_lazy("Rows"), "rows"),
}
# A library that is not preloaded defines no setting, whatever its extension says.
SITUATION = """
    SELECT (SELECT nspname::text FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
             WHERE extname = %(extension)s) AS schema,
           EXISTS (SELECT FROM pg_settings WHERE name = 'pg_stat_statements.max') AS is_loaded,
           EXISTS (SELECT FROM pg_available_extensions WHERE name = %(extension)s) AS is_available,
           (SELECT setting FROM pg_settings WHERE name = 'shared_preload_libraries') AS libraries,
           current_setting('is_superuser')::bool OR pg_has_role('pg_read_all_stats', 'MEMBER') AS sees_all,
           current_user::text AS role, current_database()::text AS database
"""
COLUMNS = "SELECT attname::text AS name FROM pg_attribute WHERE attrelid = %(view)s::regclass AND attnum > 0"
# Those within functions (toplevel, from 1.9 on) are rows of their own, and so are those of each role: roles stay apart.
STATEMENTS = sql.SQL("""
    WITH found AS (
        SELECT coalesce(rolname::text, '') AS role, left(min(query), %(longest)s) AS statement,
               min(query) ILIKE '%%password%%' AS is_secret, sum(calls)::bigint AS calls,
               sum({total})::float8 AS total_ms, sum({total})::float8 / greatest(sum(calls), 1)::float8 AS mean_ms,
               sum(rows)::bigint AS rows
          FROM {view} LEFT JOIN pg_roles ON pg_roles.oid = userid
         WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
         GROUP BY userid, rolname, queryid, CASE WHEN queryid IS NULL THEN query END
    )
    SELECT *, total_ms * 100 / nullif(sum(total_ms) OVER (), 0) AS share, count(*) OVER () AS of_all
      FROM found ORDER BY {order} DESC NULLS LAST, calls DESC, statement LIMIT %(shown)s
""")
SINCE = sql.SQL("SELECT stats_reset AS since FROM {info}")


@dataclass(frozen=True)
class Statement:
    """A statement of one role: times in milliseconds, `share` in percent of the time of all in the database.

    `query` is without literals, `text` as pg_stat_statements has it, which keeps those of commands such as CREATE ROLE.
    """

    role: str
    query: str
    text: str
    calls: int
    total_ms: float
    mean_ms: float
    rows: int
    share: float


@dataclass(frozen=True)
class Step:
    """A line to get the extension, and where it goes."""

    where: str
    line: str


@dataclass(frozen=True)
class TopStatements:
    """The costliest statements of a database, of `of_all` that are counted `since` a moment (None: before 14).

    With `steps` there are none yet: the extension is missing, as the sentence `lacks` says.
    """

    taken_at: datetime
    database: str
    statements: tuple[Statement, ...] = ()
    of_all: int = 0
    since: datetime | None = None
    lacks: str = ""
    steps: tuple[Step, ...] = ()
    note: str = ""


def of_database(place: Place, database: str, order: str) -> TopStatements:
    """Read the statements of a database by one of `ORDERS`. Raises `ClusterUnreachable`."""
    with sessions.asking(place, database) as cursor:
        situation = cursor.execute(SITUATION, {"extension": EXTENSION}).fetchone() or {}
        if lacks := _lacks(situation):
            steps = tuple(_steps(situation))
            return TopStatements(timezone.now(), situation["database"], lacks=lacks, steps=steps)
        rows = _rows(cursor, situation["schema"], order)
        since = _since(cursor, situation["schema"])
    return TopStatements(
        taken_at=timezone.now(),
        database=situation["database"],
        statements=tuple(_statement(row) for row in rows),
        of_all=rows[0]["of_all"] if rows else 0,
        since=since,
        note="" if situation["sees_all"] else _hidden(situation["role"]),
    )


def _lacks(situation: dict[str, Any]) -> str:
    if not situation["is_available"]:
        return _("pg_stat_statements is not installed on the server: it comes with PostgreSQL's contrib package.")
    if not situation["is_loaded"]:
        return _("pg_stat_statements is not loaded by the server: to load it takes a restart.")
    if situation["schema"] is None:
        text = _("pg_stat_statements is loaded, and database %(database)s lacks its extension.")
        return text % {"database": situation["database"]}
    return ""


def _steps(situation: dict[str, Any]) -> list[Step]:
    """Return the lines to get it, those that are left to do."""
    steps = []
    if not situation["is_available"]:
        steps.append(Step(_("On the server's host, with its own version"), "apt install postgresql-contrib"))
    if not situation["is_loaded"]:
        libraries = [one.strip() for one in (situation["libraries"] or "").split(",") if one.strip()]
        if situation["libraries"] is None:  # it is hidden from roles without pg_read_all_settings
            libraries = ["…"]
        line = f"shared_preload_libraries = '{','.join([*libraries, EXTENSION])}'"
        where = _("In postgresql.conf; … stands for what it has, which is hidden from the panel's role")
        steps.append(Step(where if libraries == ["…"] else _("In postgresql.conf"), line))
        steps.append(Step(_("Restart PostgreSQL, which ends all sessions"), "systemctl restart postgresql"))
    if situation["schema"] is None:
        where = _("In database %(database)s, as a superuser") % {"database": situation["database"]}
        steps.append(Step(where, "CREATE EXTENSION pg_stat_statements;"))
    return steps


def _rows(cursor: Cursor, schema: str, order: str) -> list[dict[str, Any]]:
    view = sql.Identifier(schema, EXTENSION)
    columns = {row["name"] for row in cursor.execute(COLUMNS, {"view": view.as_string(cursor)})}
    total = "total_exec_time" if "total_exec_time" in columns else "total_time"  # before 1.8, of PostgreSQL 13
    query = STATEMENTS.format(view=view, total=sql.Identifier(total), order=sql.Identifier(ORDERS[order][1]))
    params = {"longest": sessions.LONGEST_STATEMENT, "shown": SHOWN}
    return cursor.execute(query, params).fetchall()


def _since(cursor: Cursor, schema: str) -> datetime | None:
    """Return when counting began, which pg_stat_statements_info tells from 1.9 on (PostgreSQL 14)."""
    info = sql.Identifier(schema, f"{EXTENSION}_info")
    there = cursor.execute("SELECT to_regclass(%(info)s) IS NOT NULL AS there", {"info": info.as_string(cursor)})
    if not (there.fetchone() or {}).get("there"):
        return None
    return cast("datetime | None", (cursor.execute(SINCE.format(info=info)).fetchone() or {}).get("since"))


def _statement(row: dict[str, Any]) -> Statement:
    text = _("(not shown: it mentions a password)") if row["is_secret"] else row["statement"] or ""
    return Statement(
        role=row["role"],
        query=text if row["is_secret"] else literals.without(text),
        text=text,
        calls=row["calls"],
        total_ms=row["total_ms"],
        mean_ms=row["mean_ms"],
        rows=row["rows"],
        share=row["share"] or 0.0,
    )


def _hidden(role: str) -> str:
    return _("Statements of other roles are hidden from %(role)s: GRANT pg_monitor TO %(role)s.") % {"role": role}
