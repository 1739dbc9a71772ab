"""Proof that a configuration is live: what SHOW DATABASES says, and a real login through a pool."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from operator import attrgetter
from uuid import UUID

import psycopg
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from pools.clusters import auth_query
from pools.models import Pool, Pooler
from pools.poolers import first_query
from pools.poolers.faults import Rejected, Unproved
from pools.poolers.pgbouncer import console, database_entries, processes, stats, taken_entries
from pools.poolers.pgbouncer.database_entries import Entry
from pools.poolers.pooler_login import LoginAddress, connected, reason_of, refusing_cleartext

# longer than PgBouncer's server_login_retry of 15 s, within which it does not try a server again
LOGIN_TIMEOUT_S = 20
SOON_S = 2
# a rule's `reject`; since 1.24 the second where no rule fits (both seen)
BY_A_RULE = ("login rejected", "no authentication method is found")
COLUMNS = ("host", "port", "database", "force_user", "pool_size", "pool_mode", "max_connections")
PLAIN = attrgetter("host", "port", "database", "user", "size", "mode", "size")  # the same of an entry without settings
RESERVE_COLUMNS = {"reserve_pool": "reserve_pool_size", "reserve_pool_size": "reserve_pool"}  # renamed in 1.24


# The keys are columns of SHOW DATABASES: a pool with a 1 in one of them admits no login.
SHUT = {
    "disabled": gettext_lazy("the pool %(pool)s was only read back: it is disabled at the console and admits no login"),
    "paused": gettext_lazy("the pool %(pool)s was only read back: it is paused at the console and admits no login"),
}
WAITING = {
    "disabled": gettext_lazy("%(user)s into %(pool)s, which is disabled: its query waits"),
    "paused": gettext_lazy("%(user)s into %(pool)s, which is paused: its query waits"),
}


NOBODY = gettext_lazy("the pool %(pool)s was only read back: no password of its users is known")


class Shut(Exception):
    """The pool is shut at the console, so that no login can verify it; the message is the step's text."""


def read_back(shown: console.Table, entries: Iterable[Entry], gone: Iterable[str]) -> None:
    """Compare SHOW DATABASES with the entries and the names that must be gone; raises `Rejected` at a fault."""
    for pool_id, fault in faults(shown, entries).items():
        raise Rejected(_("after RELOAD: %(fault)s") % {"fault": fault}, pool_id)
    named = shown.columns.index("name")
    for name in {str(row[named]) for row in shown.rows}.intersection(gone):
        raise Rejected(_("after RELOAD the pooler still has pool %(name)s") % {"name": name})


def faults(shown: console.Table, entries: Iterable[Entry]) -> dict[UUID, str]:
    """Return the pools whose entry is not live by SHOW DATABASES, with the first difference."""
    named, compared = shown.columns.index("name"), shown.row_getter(*COLUMNS)
    live = {row[named]: row for row in shown.rows}
    found = {}
    for entry in entries:
        row = live.get(entry.name)
        if row and compared(row) == PLAIN(entry) and not entry.settings:  # most of ten thousand pools end here
            continue
        if fault := _difference(shown.row(row) if row else None, entry):
            found[UUID(entry.pool)] = fault
    return found


def log_in(pooler: Pooler, pool: Pool, role: str, password: str, *, moved: bool) -> str:
    """Log in to the pool as this role and run SELECT 1 on its server; return the text of the step.

    A pool that is full or paused lets the login in and keeps its query waiting, and so does one whose server is
    full; where the pool does not lead elsewhere than before (`moved`) that is no fault of the entry, and is
    said. Raises `Rejected` with the server's words, `Shut` for a pool that is disabled, or paused with no server yet.
    """
    params = {"user": role, "pool": pool.name, "seconds": LOGIN_TIMEOUT_S}
    through = _("%(user)s through %(pool)s") % params
    try:
        with closing(_connect(pooler, pool, role, password, LOGIN_TIMEOUT_S)) as connection:
            connection.pgconn.send_query(b"SELECT 1")
            if _answers(connection, SOON_S):
                return through
            if excuse := _waiting_note(pooler, pool):
                return excuse % {"user": role, "pool": pool.name, "size": pool.size}
            if _answers(connection, LOGIN_TIMEOUT_S):
                return through
    except psycopg.Error as error:
        if shut := _shut(pooler, pool):
            raise Shut(SHUT[shut] % {"pool": pool.name}) from None
        reason = _login_reason(error)
        raise Rejected(
            _("a login through pool %(pool)s as %(user)s failed: %(reason)s")
            % {"pool": pool.name, "user": role, "reason": reason},
            pool.pk,
        ) from None
    if moved:
        raise Rejected(_("a query through pool %(pool)s got no answer in %(seconds)s s") % params, pool.pk)
    return (
        _(
            "%(user)s into %(pool)s, whose server was not changed and gave it no connection in %(seconds)s s: its "
            "query waits"
        )
        % params
    )


def probe(pooler: Pooler, pool: Pool, role: str, password: str) -> None:
    """Run a client's first query, or for inbound users see that the role may look them up.

    Raises `Rejected` with the reason, `Unproved` for a pool that is full or shut, `PoolerUnreachable`.
    """
    query = auth_query.MAY_ASK if database_entries.query_of(pool) and not pool.taken_over else first_query.ANY
    if pool.taken_over:
        role, password = taken_entries.client_of(pool)
        if not role:
            raise Unproved(NOBODY % {"pool": pool.name})
    try:
        if first_query.run(partial(_connect, pooler, pool, role, password, first_query.WITHIN_S), query):
            return
    except psycopg.Error as error:
        if excuse := _waiting_note(pooler, pool):
            raise Unproved(excuse % {"user": role, "pool": pool.name, "size": pool.size}) from None
        raise Rejected(reason_of(error), pool.pk) from None
    text = _("%(role)s has no function to look up inbound users with in database %(database)s")
    raise Rejected(text % {"role": role, "database": pool.database}, pool.pk)


def refuse(pooler: Pooler, pool: Pool, stranger: str) -> str:
    """Require that a rule refuses this user at the pool, and return the text of the step; raises `Rejected`.

    No password is needed: a rule decides before one is asked for.
    """
    try:
        _connect(pooler, pool, stranger, "", LOGIN_TIMEOUT_S).close()
        reason = _("it was let in")
    except psycopg.Error as error:
        reason = reason_of(error)
        if any(words in reason for words in BY_A_RULE):
            return _("%(user)s at %(pool)s, by a rule") % {"user": stranger, "pool": pool.name}
    raise Rejected(
        _("pool %(pool)s must refuse %(user)s, which PgBouncer knows, and did not: %(reason)s")
        % {"pool": pool.name, "user": stranger, "reason": reason},
        pool.pk,
    )


def _connect(
    pooler: Pooler, pool: Pool, role: str, password: str, timeout_s: int
) -> psycopg.Connection[tuple[object, ...]]:
    """Open a client's session; close it without `with`, whose commit waits behind an unanswered query."""

    def log_in(address: LoginAddress) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            **address,
            user=role,
            password=password,
            dbname=pool.name,
            application_name="pooldeck",
            connect_timeout=timeout_s,
            gssencmode="disable",
            **refusing_cleartext(pooler),
            autocommit=True,
        )

    return connected(pooler, log_in)


def _answers(connection: psycopg.Connection[tuple[object, ...]], within_s: float) -> bool:
    """Return whether the query is answered within that time; raises `psycopg.Error` for its error."""
    if not first_query.is_answered(connection, within_s):
        return False
    first_query.row_count(connection)
    return True


def _waiting_note(pooler: Pooler, pool: Pool) -> str:
    """Return a step's text, with placeholders, of a pool that keeps a query waiting: it is paused or full; else ''."""
    if shut := _shut(pooler, pool):
        return str(WAITING[shut])
    each = (stats.figures(rows).get(pool.name) for rows in _shown_by_each(pooler, "pools"))
    full = any(figures.sv_active >= pool.size for figures in each if figures)
    return _("%(user)s into %(pool)s, whose %(size)s connections are all in use: its query waits") if full else ""


def _shut(pooler: Pooler, pool: Pool) -> str:
    """Return `disabled` or `paused` for a pool that was so at the console; empty when it is open."""
    own = [row for rows in _shown_by_each(pooler, "databases") for row in rows if row["name"] == pool.name]
    return next((word for word in ("disabled", "paused") if any(row.get(word) for row in own)), "")


def _shown_by_each(pooler: Pooler, word: str) -> list[console.Rows]:
    """Return the rows of SHOW of each process that shares the port: nobody can tell which of them took a login."""
    if not pooler.shares_its_port:
        return [console.show(pooler, word)]
    with processes.known(pooler) as (found, _missing):
        return [console.rows(one.console, word) for one in found]


def _login_reason(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return _("no answer in %(seconds)s s; see PgBouncer's log for its server's message") % {
            "seconds": LOGIN_TIMEOUT_S
        }
    return reason_of(error)


def _values(entry: Entry) -> tuple[object, ...]:
    """Return the values that `COLUMNS` must have for this entry."""
    return entry.host, entry.port, entry.database, entry.user or None, entry.size, entry.mode, entry.most


def _of_kept(entry: Entry) -> dict[str, object]:
    """Return the values of the columns that the line of an entry that was taken over determines."""
    expected: dict[str, object] = {"port": entry.port, "database": entry.database, "force_user": entry.user or None}
    stated = {"host": entry.host, "pool_size": entry.size, "pool_mode": entry.mode}
    if most := entry.settings.get("max_db_connections"):
        stated["max_connections"] = int(most)
    return expected | {column: value for column, value in stated.items() if value}


def _difference(row: Mapping[str, object] | None, entry: Entry) -> str:
    """Return the first column that differs from the entry, as a sentence; empty when none does."""
    if row is None:
        return _("the pooler has no pool %(name)s") % {"name": entry.name}
    wanted = _of_kept(entry) if entry.kept else dict(zip(COLUMNS, _values(entry), strict=True))
    for key, value in entry.settings.items():
        column = key if key in row else RESERVE_COLUMNS.get(key, key)
        if column == "load_balance_hosts" and "," not in entry.host:
            continue  # shown where there are several hosts only
        if column in row:
            wanted[column] = int(value) if value.isdigit() else value
    for column, expected in wanted.items():
        if row[column] != expected:
            params = {"pool": entry.name, "name": column, "live": row[column], "wanted": expected}
            return _("the pooler has pool %(pool)s with %(name)s %(live)s, not %(wanted)s") % params
    return ""
