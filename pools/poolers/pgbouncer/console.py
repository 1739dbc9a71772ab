"""PgBouncer's admin console: SHOW with typed columns, RELOAD and other commands."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import itemgetter
from typing import NamedTuple

import psycopg
from django.utils.translation import gettext as _
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.rows import DictRow, dict_row, tuple_row

from core.lib.crypto import SealBroken
from pools.clusters import session_deadline
from pools.errors import ConsoleRefused, PoolerUnreachable
from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pooler_login import LoginAddress, connected, reason_of, refusing_cleartext

CONNECT_TIMEOUT_S = 5
ANSWER_TIMEOUT_S = 15
Console = psycopg.Connection[DictRow]
Row = dict[str, object]
Rows = list[Row]
# The words of SHOW, with the release that introduced them (PgBouncer's usage manual and NEWS); without FDS, which has
# passwords, and HELP, which returns no table.
WORDS: dict[str, tuple[int, int]] = {
    "pools": (1, 18),
    "stats": (1, 18),
    "clients": (1, 18),
    "servers": (1, 18),
    "databases": (1, 18),
    "users": (1, 18),
    "config": (1, 18),
    "lists": (1, 18),
    "totals": (1, 18),
    "mem": (1, 18),
    "dns_hosts": (1, 18),
    "dns_zones": (1, 18),
    "state": (1, 19),
    "peers": (1, 19),
    "peer_pools": (1, 19),
    "version": (1, 18),
}


class Table(NamedTuple):
    """The result of SHOW, without a dictionary for each of ten thousand rows."""

    columns: tuple[str, ...]
    rows: list[tuple[object, ...]]

    def row_getter(self, *columns: str) -> Callable[[tuple[object, ...]], tuple[object, ...]]:
        """Return a function that takes these columns, at least two, out of a row."""
        return itemgetter(*map(self.columns.index, columns))

    def row(self, values: tuple[object, ...]) -> Row:
        """Return a row as a dictionary by column."""
        return dict(zip(self.columns, values, strict=True))


class NoAnswer(PoolerUnreachable):
    """The console did not answer in time, and its connection was shut down."""


class _AnyText(Loader):
    """Loads texts of the console, which repeats names of clients that may not be UTF-8."""

    def load(self, data: Buffer) -> str:
        """Decode the text, with a replacement character for each invalid byte."""
        return bytes(data).decode(errors="replace")


def open(pooler: Pooler, application_name: str = "pooldeck", host: str = "") -> Console:
    """Log in to the console; raises `PoolerUnreachable` saying why it failed.

    `host` is the folder of the socket of one process, where several share the port. The console speaks the simple
    protocol only: no transaction, no parameters (PgBouncer usage manual).
    """

    def log_in(address: LoginAddress) -> Console:
        return psycopg.connect(
            **address,
            user=pooler.admin_user,
            password=pooler.admin_password,
            dbname="pgbouncer",
            application_name=application_name,
            connect_timeout=CONNECT_TIMEOUT_S,
            gssencmode="disable",
            **refusing_cleartext(pooler),
            autocommit=True,
            prepare_threshold=None,  # a statement repeated five times would be prepared, which the console refuses
            row_factory=dict_row,
        )

    try:
        return connected(pooler, log_in, host)
    except SealBroken:
        raise PoolerUnreachable(
            _("the stored password of pooler %(pooler)s can't be decrypted: enter it again") % {"pooler": pooler}
        ) from None
    except psycopg.Error as error:
        reason = _("pooler %(pooler)s can't be reached: %(reason)s") % {"pooler": pooler, "reason": reason_of(error)}
        raise PoolerUnreachable.at(pooler, reason) from None


def show(pooler: Pooler, word: str) -> Rows:
    """Return the rows of `SHOW word`, columns by name; `word` is one of `WORDS`. Raises `PoolerUnreachable`."""
    with open(pooler) as connection:
        return rows(connection, word)


def rows(connection: Console, word: str) -> Rows:
    """Return the rows of `SHOW word` over an open console; raises `PoolerUnreachable`, `ConsoleRefused`."""
    answer = table(connection, word)
    return [answer.row(values) for values in answer.rows]


def table(connection: Console, word: str) -> Table:
    """Return the rows as a table, for results of ten thousand rows."""
    if word not in WORDS:
        raise Rejected(
            _("SHOW %(word)s is not offered: use one of %(words)s") % {"word": word, "words": ", ".join(sorted(WORDS))}
        )
    try:
        return _table(connection, word)
    except UnicodeDecodeError:  # rare, and the loader of any text is slow on ten thousand rows
        connection.adapters.register_loader("text", _AnyText)
        return _table(connection, word)


def command(connection: Console, statement: str, within_s: float = ANSWER_TIMEOUT_S) -> None:
    """Run a command without rows; raises `ConsoleRefused` with its words, `NoAnswer`, `PoolerUnreachable`."""
    _ask(connection, statement, within_s)


def reload(connection: Console) -> None:
    """Reload the files; success proves nothing before 1.25, which raises `Rejected` on a bad file."""
    try:
        command(connection, "RELOAD")
    except ConsoleRefused as error:
        raise Rejected(str(error)) from None


def _table(connection: Console, word: str) -> Table:
    cursor = _ask(connection, f"SHOW {word}", ANSWER_TIMEOUT_S)
    cursor.row_factory = tuple_row  # type: ignore[assignment]  # the rows fetched from here on are tuples
    rows: list[tuple[object, ...]] = cursor.fetchall()  # type: ignore[assignment]
    return Table(_columns(cursor), rows)


def _columns(cursor: psycopg.Cursor[DictRow]) -> tuple[str, ...]:
    """Return the names of the columns; the cursor's own description looks up the type of each."""
    result = cursor.pgresult
    found = [result.fname(number) for number in range(result.nfields)] if result else []
    return tuple(name.decode() for name in found if name is not None)


def _ask(connection: Console, statement: str, within_s: float) -> psycopg.Cursor[DictRow]:
    try:
        with _answering(connection, within_s):
            return connection.execute(statement.encode())
    except psycopg.Error as error:
        if connection.broken:
            raise PoolerUnreachable(
                _("the pooler's console closed the connection during %(statement)s: %(reason)s")
                % {"statement": statement, "reason": reason_of(error)}
            ) from None
        raise ConsoleRefused(
            _("%(statement)s was refused: %(reason)s") % {"statement": statement, "reason": reason_of(error)}
        ) from None


@contextmanager
def _answering(connection: Console, within_s: float) -> Iterator[None]:
    """Shut down the connection to a console that does not answer in time; libpq itself would wait for ever."""
    with session_deadline.within(connection, within_s) as gave_up:
        try:
            yield
        except psycopg.Error:
            if gave_up.is_set():
                raise NoAnswer(
                    _("the pooler's console did not answer within %(seconds)s s") % {"seconds": f"{within_s:g}"}
                ) from None
            raise
