"""Logins through the entries of a running pooler, as a take-over tries them before and after."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import psycopg
from django.utils.translation import gettext as _

from pools.clusters import session_deadline
from pools.models import Pooler
from pools.poolers.pooler_login import LoginAddress, connected, reason_of, refusing_cleartext

IDENTITY = b"SELECT system_identifier::text, pg_is_in_recovery() FROM pg_control_system()"
WITHIN_S = 5
AT_ONCE = 8
MOST_LOGINS = 200  # entries; of others the address alone tells the server


@dataclass(frozen=True)
class EntryLogin:
    """A login through an entry: as whom, and which server answered; `error` where none got through."""

    role: str = ""
    password: str = field(default="", repr=False)
    identifier: str = ""
    is_standby: bool = False
    error: str = ""


@dataclass(frozen=True)
class ClientRoute:
    """How clients reach an entry: the database that they name, at the pooler's address unless another is given."""

    database: str
    host: str = ""
    port: int | None = None


def no_password() -> EntryLogin:
    """Return the record of an entry through which nobody known can log in."""
    return EntryLogin(error=_("no password of its users is known"))


def answers(
    pooler: Pooler, routes: Mapping[str, ClientRoute], roles: Mapping[str, Sequence[EntryLogin]]
) -> dict[str, EntryLogin]:
    """Log in through each entry as the first of its roles that gets through; several at once."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="take-over") as threads:
        asked = {name: threads.submit(_first, pooler, route, roles.get(name, ())) for name, route in routes.items()}
        return {name: one.result() for name, one in asked.items()}


def answer(pooler: Pooler, route: ClientRoute, role: EntryLogin) -> EntryLogin:
    """Log in as one role, and ask which server it is."""
    try:
        with closing(_connect(pooler, route, role)) as session, session_deadline.within(session, WITHIN_S):
            try:
                row = session.execute(IDENTITY).fetchone()
            except psycopg.errors.DatabaseError:
                if session.broken:
                    raise
                session.execute(b"SELECT 1")
                row = None
    except psycopg.Error as error:
        return EntryLogin(role.role, error=reason_of(error))
    identifier, is_standby = row or ("", False)
    return EntryLogin(role.role, role.password, str(identifier), bool(is_standby))


def _first(pooler: Pooler, route: ClientRoute, roles: Sequence[EntryLogin]) -> EntryLogin:
    """Return the first login that gets through, else the first error; asks no database of the panel's."""
    failed = no_password()
    for number, role in enumerate(roles):
        tried = answer(pooler, route, role)
        if not tried.error:
            return tried
        failed = failed if number else tried
    return failed


def _connect(pooler: Pooler, route: ClientRoute, role: EntryLogin) -> psycopg.Connection[tuple[object, ...]]:
    def log_in(address: LoginAddress) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            **address,
            user=role.role,
            password=role.password,
            dbname=route.database,
            application_name="pooldeck",
            connect_timeout=WITHIN_S,
            gssencmode="disable",
            **refusing_cleartext(pooler),
            autocommit=True,
            prepare_threshold=None,
        )

    return connected(pooler, log_in, route.host, route.port)
