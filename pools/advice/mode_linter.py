"""Checks a database for what a pool mode would break, before clients find out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from psycopg import sql

from pools.advice import client_limits, session_features
from pools.advice.client_limits import ClientLimits
from pools.advice.session_features import Finding, Statement
from pools.clusters import connect
from pools.errors import ClusterUnreachable
from pools.models import Pool

MOST_STATEMENTS = 5000  # pg_stat_statements.max by default
TEXT_LENGTH = 2000
HIDDEN = "<insufficient privilege>"
# Parameters that a server reports, that a client can set, and that PgBouncer does not always track (PostgreSQL's
# protocol manual).
SETTABLE_REPORTED = ("IntervalStyle", "default_transaction_read_only", "scram_iterations", "search_path")
STATEMENTS, ACTIVITY = "pg_stat_statements", "pg_stat_activity"
# An idle session holds only session-level locks; the key is split as PostgreSQL's manual describes (pg_locks).
LOCKS = """
    SELECT 'SELECT pg_advisory_lock(' || CASE WHEN objsubid = 1 THEN (classid::bigint << 32 | objid::bigint)::text
                                              ELSE classid || ', ' || objid END || ')', 0
      FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND state = 'idle' AND datname = current_database()
       AND application_name NOT LIKE 'pooldeck%%' AND (%(user)s = '' OR usename = %(user)s) LIMIT %(most)s
"""
TABLES = """
    SELECT 'CREATE TEMPORARY TABLE ' || relname, 0 FROM pg_class JOIN pg_roles owner ON owner.oid = relowner
     WHERE relpersistence = 't' AND relkind IN ('r', 'p') AND (%(user)s = '' OR rolname = %(user)s) LIMIT %(most)s
"""
# The comment marks it as the panel's: run as a pool's role it is counted among the role's own statements.
INSTALLED = """
    SELECT /* pooldeck */ nspname, extversion FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
     WHERE extname = %s
"""
HELD_WORDS = gettext_lazy("the advisory locks and temporary tables that sessions hold now")
HELD = {session_features.LOCKS: LOCKS, "pg_class": TABLES}


@dataclass(frozen=True)
class StatementsExtension:
    """The schema and the version of the extension pg_stat_statements in a database."""

    schema: str
    version: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """The findings, the checks made (`examined`: phrases), and those that could not be made (`limits`: sentences)."""

    findings: list[Finding] = field(default_factory=list)
    examined: list[str] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)


def lint(spec: Pool) -> Report:
    """Judge a pool (it need not be saved) by the statements in its database, as its user where it has one.

    Session mode keeps everything, so nothing is queried then. An unreachable cluster is a limit, not an error.
    """
    if spec.mode not in session_features.SHARED:
        return Report()
    client = client_limits.of(spec.pooler)
    limits = [session_features.of_prepared_statements(client)]
    try:
        with connect.connect(spec.cluster, database=spec.database) as connection:
            counted, why_not = _counted(connection, spec.user)
            running = _running(connection, spec.user)
            locking = list(_held_locks(connection, spec.user))
            is_kept = _tracked_by(connection, client)
    except (ClusterUnreachable, psycopg.Error) as error:
        failed = _("the cluster could not be asked what runs there: %(error)s") % {"error": error}
        return Report(limits=[failed, *limits])
    statements = [*counted, *running, *locking]
    hidden = sum(statement.text == HIDDEN for statement in statements)
    if hidden:
        why_not.append(
            ngettext(
                "%(count)s statement of other roles is hidden: grant pg_read_all_stats to see it",
                "%(count)s statements of other roles are hidden: grant pg_read_all_stats to see them",
                hidden,
            )
            % {"count": hidden}
        )
    return Report(
        findings=session_features.find(statements, spec.mode, is_kept),
        examined=[*([_counted_words(len(counted))] if counted else []), _running_words(len(running)), str(HELD_WORDS)],
        limits=[*why_not, *limits],
    )


def installed(connection: connect.Connection) -> StatementsExtension | None:
    """Return the schema of pg_stat_statements in this database; None where it is not installed."""
    row = connection.execute(INSTALLED, [STATEMENTS]).fetchone()
    return StatementsExtension(row[0], tuple(map(int, row[1].split(".")))) if row else None


def _counted(connection: connect.Connection, user: str) -> tuple[list[Statement], list[str]]:
    """Return the statements that pg_stat_statements counted in this database, or why there are none."""
    found = installed(connection)
    if found is None:
        missing = _(
            "the extension %(extension)s is not installed in this database, so only current statements were checked: "
            "CREATE EXTENSION %(extension)s, with it in shared_preload_libraries, then check again after a day"
        )
        return [], [missing % {"extension": STATEMENTS}]
    query = sql.SQL(
        "SELECT left(query, {length}), calls FROM {schema}.pg_stat_statements"
        " WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND ({user} = '' OR userid = (SELECT oid FROM pg_roles WHERE rolname = {user}))"
        " ORDER BY calls DESC LIMIT {most}"
    ).format(length=TEXT_LENGTH, schema=sql.Identifier(found.schema), user=sql.Literal(user), most=MOST_STATEMENTS)
    try:
        return list(_statements(connection.execute(query), STATEMENTS)), []
    except psycopg.Error as error:  # installed, but not preloaded
        unreadable = _("the extension %(extension)s could not be read: %(error)s")
        return [], [unreadable % {"extension": STATEMENTS, "error": " ".join(str(error).split())}]


def _running(connection: connect.Connection, user: str) -> list[Statement]:
    """Return the last statement of every client session in this database, the panel's own excluded."""
    query = (
        "SELECT left(query, %(length)s), 0 FROM pg_stat_activity WHERE datname = current_database()"
        " AND backend_type = 'client backend' AND application_name NOT LIKE 'pooldeck%%'"
        " AND (%(user)s = '' OR usename = %(user)s) AND query <> '' LIMIT %(most)s"
    )
    values = {"length": TEXT_LENGTH, "user": user, "most": MOST_STATEMENTS}
    return list(_statements(connection.execute(query, values), ACTIVITY))


def _held_locks(connection: connect.Connection, user: str) -> Iterator[Statement]:
    """Yield the statements behind what sessions hold now, such as a lock; they may not be their last ones."""
    for source, query in HELD.items():
        yield from _statements(connection.execute(query, {"user": user, "most": MOST_STATEMENTS}), source)


def _statements(cursor: "psycopg.Cursor[tuple[object, ...]]", source: str) -> Iterator[Statement]:
    for text, calls in cursor:
        yield Statement(str(text), int(str(calls)), source)


def _tracked_by(connection: connect.Connection, limits: ClientLimits) -> Callable[[str], bool]:
    """Return a predicate: whether the pooler keeps a SET of a parameter with its client, on this server."""
    reported_names = {name.lower() for name in SETTABLE_REPORTED if connection.info.parameter_status(name) is not None}
    return lambda parameter: limits.keeps(parameter, reported=parameter in reported_names)


def _counted_words(count: int) -> str:
    if count == MOST_STATEMENTS:
        text = _("the %(count)s most called statements counted by %(view)s")
    else:
        text = ngettext("%(count)s statement counted by %(view)s", "%(count)s statements counted by %(view)s", count)
    return text % {"count": count, "view": STATEMENTS}


def _running_words(count: int) -> str:
    text = ngettext(
        "the last statement of %(count)s session in %(view)s",
        "the last statement of %(count)s sessions in %(view)s",
        count,
    )
    return text % {"count": count, "view": ACTIVITY}
