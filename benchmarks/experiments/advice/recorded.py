"""The recorded mix of a pool: the queries that pg_stat_statements counted for its role, as weighted pgbench scripts.

All of it is read as the pool's own role, which sees its own statements, so nothing is run that it could not run. Only
queries are taken: each candidate is executed once in a read-only transaction first, and is left out where it fails,
and where it calls a volatile function, which could write. Its scripts have `$1` in place of values, since others read
runs as well; each run draws its own (`benchmarks.library.scripts.sampled`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg import sql

from benchmarks.engines import script_gate
from benchmarks.experiments.start import InvalidExperiment
from benchmarks.library.scripts import placeholders, sampled
from benchmarks.models.advice import RecordedQueries
from benchmarks.models.options import RunScript
from pools.advice import mode_linter
from pools.advice.mode_linter import STATEMENTS as EXTENSION
from pools.clusters import connect, literals
from pools.clusters.connect import Connection
from pools.models import Pool

MOST_QUERIES, MOST_READ = 20, 500
MOST_WEIGHT = 1000
NAME_CHARACTERS = 60
TRIED_WITHIN_MS = 2000
KNOWS_MORE = (1, 9)  # the version of the extension that has toplevel and pg_stat_statements_info
WRITES, UNSAFE, FAILS, RARE = "writes", "unsafe", "fails", "rare"

_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_QUERY = re.compile(r"\s*\(*\s*(select|with|values|table)\b", re.IGNORECASE)
_CHANGE = re.compile(r"\s*(insert|update|delete|merge|copy|call)\b", re.IGNORECASE)
_WRITING = re.compile(
    r"\b(insert|update|delete|merge|into)\b|\bfor\s+(no\s+key\s+update|key\s+share|share)\b", re.IGNORECASE
)
_NOT_FOR_PGBENCH = re.compile(r"[\\;\r\0]|(?<!:):[A-Za-z_]")  # it would take them for its own commands and variables
_CALLED = re.compile(r'([\w$]+)"?\s*\(')
_VOLATILE = "SELECT /* pooldeck */ EXISTS (SELECT FROM pg_proc WHERE provolatile = 'v' AND proname = ANY(%s))"
_RESET = sql.SQL("SELECT /* pooldeck */ stats_reset FROM {schema}.pg_stat_statements_info")
_COUNTED = sql.SQL("""
    SELECT /* pooldeck */ query, calls FROM {schema}.pg_stat_statements
     WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND userid = (SELECT oid FROM pg_roles WHERE rolname = current_user) {top_level}
     ORDER BY calls DESC LIMIT {most}
""")


@dataclass(frozen=True)
class RecordedMix:
    """The statements recorded of a role in a database.

    `scripts` are as a run takes them. `share` is the part of all counted calls of queries and changes that they stand
    for, `left_out` the number of statements by reason, and `since` the time of the last reset, empty where unknown.
    """

    scripts: list[RunScript]
    share: float
    left_out: Mapping[str, int]
    since: str

    def as_json(self, pool: Pool) -> RecordedQueries:
        """Return the mix's origin and counts as the experiment stores them beside its scripts, as JSON."""
        return {
            "user": pool.user,
            "database": pool.database,
            "since": self.since,
            "queries": len(self.scripts),
            "share": self.share,
            "left_out": dict(self.left_out),
        }


def read(pool: Pool) -> RecordedMix:
    """Return the recorded mix of the pool's role in its database.

    Raises `InvalidExperiment` where there is none, and `ClusterUnreachable`.
    """
    if not pool.user:
        raise _invalid(_("pool %(pool)s has no user, so no statements are its own: choose scripts") % {"pool": pool})
    with connect.connect(pool.cluster, database=pool.database, user=pool.user) as connection:
        try:
            return _mix(connection, pool)
        except psycopg.Error as error:
            text = _("the view %(view)s can't be read: %(error)s")
            raise _invalid(text % {"view": EXTENSION, "error": str(error).splitlines()[0]}) from None


def _mix(connection: Connection, pool: Pool) -> RecordedMix:
    counted, since = _counted(connection, pool)
    kept: list[tuple[str, str, int]] = []
    left_out: Counter[str] = Counter()
    for query, calls in counted:
        reason, text = _script(connection, query) if len(kept) < MOST_QUERIES else (RARE, "")
        if reason:
            left_out[reason] += 1
        else:
            kept.append((query, text, calls))
    if not kept:
        text = _(
            "%(view)s has no query of role %(user)s in database %(database)s that can be repeated: let the application "
            "work for a while first"
        )
        raise _invalid(text % {"view": EXTENSION, "user": pool.user, "database": pool.database})
    total_calls = sum(calls for _query, _text, calls in kept)
    scripts: list[RunScript] = [
        {"text": text, "weight": max(1, round(MOST_WEIGHT * calls / total_calls)), "name": _name(query)}
        for query, text, calls in kept
    ]
    return RecordedMix(scripts, total_calls / sum(calls for _query, calls in counted), left_out, since)


def _counted(connection: Connection, pool: Pool) -> tuple[list[tuple[str, int]], str]:
    """Return queries and changes with their calls, most called first, and since when they are counted."""
    installed = mode_linter.installed(connection)
    if installed is None:
        text = _(
            "the extension %(view)s is not installed in database %(database)s: add it to shared_preload_libraries, "
            "restart the server, and run CREATE EXTENSION %(view)s there"
        )
        raise _invalid(text % {"view": EXTENSION, "database": pool.database})
    name, version = sql.Identifier(installed.schema), installed.version
    top_level = sql.SQL("AND toplevel" if version >= KNOWS_MORE else "")
    rows = connection.execute(_COUNTED.format(schema=name, top_level=top_level, most=MOST_READ)).fetchall()
    others = [(query, int(calls)) for query, calls in rows if placeholders.MARK not in query]
    statements = [(_COMMENT.sub(" ", query).strip().rstrip(";"), calls) for query, calls in others]
    repeatable = [one for one in statements if _QUERY.match(one[0]) or _CHANGE.match(one[0])]
    if version < KNOWS_MORE:
        return repeatable, ""
    reset = connection.execute(_RESET.format(schema=name)).fetchone()
    return repeatable, reset[0].isoformat(timespec="seconds") if reset and reset[0] else ""


def _script(connection: Connection, query: str) -> tuple[str, str]:
    """Return the query as a script, or why it is left out."""
    if not _QUERY.match(query) or _WRITING.search(query):
        return WRITES, ""
    if _NOT_FOR_PGBENCH.search(query):
        return UNSAFE, ""
    called = _CALLED.findall(query)
    names = sorted({*called, *map(str.lower, called)})
    (calls_volatile,) = connection.execute(_VOLATILE, [names]).fetchone() or (True,)
    if calls_volatile:
        return UNSAFE, ""
    try:
        shown = literals.without(query)
        script = placeholders.filled(connection, shown)
        _execute_read_only(connection, script.tried)
        script_gate.check(script.text)
        text = sampled.marked(shown)
        script_gate.check(text)
    except (psycopg.Error, script_gate.ScriptRefused):
        return FAILS, ""
    return "", text


def _execute_read_only(connection: Connection, query: str) -> None:
    """Execute the query once in a transaction that can't write, without its rows being sent."""
    with connection.transaction(force_rollback=True):
        connection.execute("SET TRANSACTION READ ONLY")
        connection.execute(sql.SQL("SET LOCAL statement_timeout = {}").format(TRIED_WITHIN_MS))
        connection.execute(b"EXPLAIN (ANALYZE, TIMING off) " + query.encode())


def _name(query: str) -> str:
    return "".join(one for one in " ".join(literals.without(query).split()) if one.isprintable())[:NAME_CHARACTERS]


def _invalid(message: str) -> InvalidExperiment:
    return InvalidExperiment({"workload": [message]})


def in_words(kept: RecordedQueries) -> Iterator[str]:
    """Yield sentences about the mix behind an advice, and about its gaps; `kept` comes from `as_json`."""
    names = {**kept, "share": f"{100 * kept['share']:.0f}", "view": EXTENSION}
    if kept["since"]:
        text = _(
            "The workload is the recorded mix of role %(user)s in database %(database)s: %(queries)s queries, "
            "%(share)s %% of the calls of queries and changes that %(view)s counted since %(since)s."
        )
    else:
        text = _(
            "The workload is the recorded mix of role %(user)s in database %(database)s: %(queries)s queries, "
            "%(share)s %% of the calls of queries and changes that %(view)s counted."
        )
    yield text % names
    for reason, count in kept["left_out"].items():
        yield _left_out(reason, count) % {"count": count}
    yield _("The values of the queries are samples of the columns' statistics, not those that your clients sent.")
    yield _("Runs on the pool before this advice were counted as calls of its clients.")


def _left_out(reason: str, count: int) -> str:
    if reason == WRITES:
        return ngettext(
            "%(count)s statement that writes or locks rows is left out.",
            "%(count)s statements that write or lock rows are left out.",
            count,
        )
    if reason == UNSAFE:
        return ngettext(
            "%(count)s query is left out: a function in it could write, or pgbench would misread it.",
            "%(count)s queries are left out: a function in them could write, or pgbench would misread them.",
            count,
        )
    if reason == FAILS:
        return ngettext(
            "%(count)s query is left out because it failed with sampled values.",
            "%(count)s queries are left out because they failed with sampled values.",
            count,
        )
    return ngettext(
        "%(count)s statement that is called less often is left out.",
        "%(count)s statements that are called less often are left out.",
        count,
    )
