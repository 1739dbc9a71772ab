"""PgBouncer's admin console: SHOW with typed columns, RELOAD, and the login that both need."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import psycopg
from psycopg.rows import DictRow, dict_row

from panel.crypto import SealBroken
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers.kind import PoolFigures, Rejected

CONNECT_TIMEOUT_S = 5
ANSWER_TIMEOUT_S = 15
Console = psycopg.Connection[DictRow]
WORDS = frozenset(
    {"clients", "config", "databases", "lists", "pools", "servers", "stats", "totals", "users", "version"}
)


def open(pooler: Pooler) -> Console:
    """Log in to the console; raises `PoolerUnreachable` saying why it failed.

    The console speaks the simple protocol only: no transaction, no parameters (PgBouncer usage manual).
    """
    try:
        return psycopg.connect(
            host=pooler.host,
            port=pooler.port,
            user=pooler.admin_user,
            password=pooler.admin_password,
            dbname="pgbouncer",
            application_name="pooldeck",
            connect_timeout=CONNECT_TIMEOUT_S,
            gssencmode="disable",
            autocommit=True,
            prepare_threshold=None,  # a statement repeated five times would be prepared, which the console refuses
            row_factory=dict_row,
        )
    except SealBroken:
        raise PoolerUnreachable(f"the stored password of pooler {pooler} can't be opened: give it again") from None
    except psycopg.Error as error:
        raise PoolerUnreachable(f"pooler {pooler} can't be reached: {reason_of(error)}") from None


def show(pooler: Pooler, word: str) -> list[dict[str, object]]:
    """The rows of `SHOW word`, columns by name; `word` is one of `WORDS`. Raises `PoolerUnreachable`."""
    with open(pooler) as connection:
        return rows(connection, word)


def rows(connection: Console, word: str) -> list[dict[str, object]]:
    """The rows of `SHOW word` over an open console; raises `PoolerUnreachable` when it is gone."""
    if word not in WORDS:
        raise Rejected(f"SHOW {word} is not offered: use one of {', '.join(sorted(WORDS))}")
    try:
        with _answering(connection):
            return connection.execute(f"SHOW {word}".encode()).fetchall()
    except psycopg.Error as error:
        raise PoolerUnreachable(f"the pooler's console hung up at SHOW {word}: {reason_of(error)}") from None


def reload(connection: Console) -> None:
    """Have the files read again; the answer proves nothing before 1.25, which raises `Rejected` on a bad file."""
    try:
        with _answering(connection):
            connection.execute(b"RELOAD")
    except psycopg.OperationalError as error:
        if connection.broken:
            raise PoolerUnreachable(f"the pooler's console hung up at RELOAD: {reason_of(error)}") from None
        raise Rejected(f"RELOAD was refused: {reason_of(error)}") from None
    except psycopg.Error as error:
        raise Rejected(f"RELOAD was refused: {reason_of(error)}") from None


def figures(pooler: Pooler) -> dict[str, PoolFigures]:
    """The connections of each pool by name, summed over users; `maxwait_ms` is the longest. One query for all."""
    found: dict[str, PoolFigures] = {}
    for row in show(pooler, "pools"):
        name, waited_ms = str(row["database"]), _number(row["maxwait"]) * 1000 + _number(row["maxwait_us"]) // 1000
        other = found.get(name, PoolFigures())
        found[name] = PoolFigures(
            cl_active=other.cl_active + _number(row["cl_active"]),
            cl_waiting=other.cl_waiting + _number(row["cl_waiting"]),
            sv_active=other.sv_active + _number(row["sv_active"]),
            sv_idle=other.sv_idle + _number(row["sv_idle"]),
            maxwait_ms=max(other.maxwait_ms, waited_ms),
        )
    return found


def reason_of(error: psycopg.Error) -> str:
    """The server's or libpq's own words, on one line, without the address it repeats."""
    return " ".join(str(error).split()).removeprefix("connection failed: ") or type(error).__name__


@contextmanager
def _answering(connection: Console) -> Iterator[None]:
    """Hang up on a console that says nothing for `ANSWER_TIMEOUT_S`; libpq itself would wait for ever."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        timer = Timer(ANSWER_TIMEOUT_S, line.shutdown, [socket.SHUT_RDWR])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _number(value: object) -> int:
    return int(str(value or 0))
