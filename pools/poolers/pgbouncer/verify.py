"""Proof that a configuration is live: what SHOW DATABASES says, and a real login through a pool."""

import select
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from operator import attrgetter
from uuid import UUID

import psycopg
from psycopg.pq import ExecStatus

from pools.models import Pool, Pooler
from pools.poolers.base import Rejected
from pools.poolers.pgbouncer import console, stats
from pools.poolers.pgbouncer.database_entries import Entry

# longer than PgBouncer's server_login_retry of 15 s, within which it does not try a server again
LOGIN_TIMEOUT_S = 20
SOON_S = 2
COLUMNS = ("host", "port", "database", "force_user", "pool_size", "pool_mode", "max_connections")
PLAIN = attrgetter("host", "port", "database", "user", "size", "mode", "size")  # the same of an entry without settings
RESERVE_COLUMNS = {"reserve_pool": "reserve_pool_size", "reserve_pool_size": "reserve_pool"}  # renamed in 1.24


class Shut(Exception):
    """Somebody shut the pool at the console, so that no login can prove it; the message says how."""


def read_back(shown: console.Table, entries: Iterable[Entry], gone: Iterable[str]) -> None:
    """Compare SHOW DATABASES with the entries and the names that must be gone; raises `Rejected` at a fault."""
    for pool, fault in faults(shown, entries).items():
        raise Rejected(f"after RELOAD {fault}", pool)
    named = shown.columns.index("name")
    for name in {str(row[named]) for row in shown.rows}.intersection(gone):
        raise Rejected(f"after RELOAD the pooler still has pool {name}")


def faults(shown: console.Table, entries: Iterable[Entry]) -> dict[UUID, str]:
    """Pools whose entry is not live as SHOW DATABASES says it, with the first difference."""
    named, compared = shown.columns.index("name"), shown.picked(*COLUMNS)
    live = {row[named]: row for row in shown.rows}
    found = {}
    for entry in entries:
        row = live.get(entry.name)
        if row and compared(row) == PLAIN(entry) and not entry.settings:  # as most of ten thousand
            continue
        if fault := _difference(shown.row(row) if row else None, entry):
            found[UUID(entry.pool)] = fault
    return found


def log_in(pooler: Pooler, pool: Pool, role: str, password: str, *, moved: bool) -> str:
    """Log in to the pool as this role and run SELECT 1 on its server; the answer says how far it came.

    A pool that is full or paused lets the login in and keeps its query waiting, and so does one whose server is
    full; where the pool does not lead elsewhere than before (`moved`) that is no fault of the entry, and is
    said. Raises `Rejected` with the server's words, `Shut` for a pool that is disabled, or paused with no server yet.
    """
    through, into = f"{role} through {pool.name}", f"{role} into {pool.name}"
    try:
        with closing(_connect(pooler, pool, role, password)) as connection:
            connection.pgconn.send_query(b"SELECT 1")
            if _answers(connection, SOON_S):
                return through
            if excuse := _excuse(pooler, pool):
                return f"{into}, {excuse}: its query waits"
            if _answers(connection, LOGIN_TIMEOUT_S):
                return through
    except psycopg.Error as error:
        if shut := _shut(pooler, pool):
            raise Shut(f"{pool.name}, which is {shut} at the console and lets nobody in") from None
        words = _login_reason(error)
        raise Rejected(f"a login through pool {pool.name} as {role} failed: {words}", pool.pk) from None
    if moved:
        raise Rejected(f"a query through pool {pool.name} got no answer in {LOGIN_TIMEOUT_S} s", pool.pk)
    return f"{into}, whose server was not changed and gave it no connection in {LOGIN_TIMEOUT_S} s: its query waits"


def _connect(pooler: Pooler, pool: Pool, role: str, password: str) -> psycopg.Connection[tuple[object, ...]]:
    """A client's session, to be closed and not left by `with`, whose commit waits behind an unanswered query."""
    return psycopg.connect(
        host=pooler.host,
        port=pooler.port,
        user=role,
        password=password,
        dbname=pool.name,
        application_name="pooldeck",
        connect_timeout=LOGIN_TIMEOUT_S,
        gssencmode="disable",
        **console.refusing_cleartext(pooler),
        autocommit=True,
    )


def _answers(connection: psycopg.Connection[tuple[object, ...]], within_s: float) -> bool:
    """Whether the query that was sent is answered within that time; libpq alone would wait as long as the pool does."""
    deadline = time.monotonic() + within_s
    while connection.pgconn.is_busy():
        readable, _, _ = select.select([connection.pgconn.socket], [], [], max(0.0, deadline - time.monotonic()))
        if not readable:
            return False
        connection.pgconn.consume_input()
    result = connection.pgconn.get_result()
    if result is None or result.status != ExecStatus.TUPLES_OK:
        raise psycopg.OperationalError(result.error_message.decode(errors="replace") if result else "no answer")
    return True


def _excuse(pooler: Pooler, pool: Pool) -> str:
    """Why a sound pool may keep a query waiting: it is paused or full; empty when it is neither."""
    if shut := _shut(pooler, pool):
        return f"which is {shut}"
    figures = stats.figures(console.show(pooler, "pools")).get(pool.name)
    full = figures is not None and figures.sv_active >= pool.size
    return f"whose {pool.size} connections are all in use" if full else ""


def _shut(pooler: Pooler, pool: Pool) -> str:
    """How it was shut at the console: disabled or paused; empty when it is open."""
    row = next((row for row in console.show(pooler, "databases") if row["name"] == pool.name), {})
    return next((word for word in ("disabled", "paused") if row.get(word)), "")


def _login_reason(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return f"no answer in {LOGIN_TIMEOUT_S} s; PgBouncer's log says what its server said"
    return console.reason_of(error)


def _values(entry: Entry) -> tuple[object, ...]:
    """What `COLUMNS` have to say of it."""
    return entry.host, entry.port, entry.database, entry.user or None, entry.size, entry.mode, entry.most


def _difference(row: Mapping[str, object] | None, entry: Entry) -> str:
    """The first column that is not what the entry says, in words; empty when all are."""
    if row is None:
        return f"the pooler has no pool {entry.name}"
    wanted: dict[str, object] = dict(zip(COLUMNS, _values(entry), strict=True))
    for key, value in entry.settings.items():
        column = key if key in row else RESERVE_COLUMNS.get(key, key)
        if column == "load_balance_hosts" and "," not in entry.host:
            continue  # shown where there are several hosts only
        if column in row:
            wanted[column] = int(value) if value.isdigit() else value
    found = ((column, row[column], expected) for column, expected in wanted.items())
    different = (f"{column} {live}, not {expected}" for column, live, expected in found if live != expected)
    return next((f"the pooler has pool {entry.name} with {one}" for one in different), "")
