"""What all logins of the panel to poolers share: forbidden addresses, passwords in clear text, reasons of failures."""

import copy
import time
from collections.abc import Callable
from traceback import clear_frames
from typing import TypedDict, TypeVar

import psycopg
from django.utils.translation import gettext as _

from core.lib import addresses
from pools.clusters import endpoints
from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.models import Pooler

Connection = TypeVar("Connection")
# Messages of libpq and sockets about a connection that led nowhere; the last two come once the tunnel has ended.
NO_ANSWER = ("server closed the connection", "Connection reset", "Connection refused", "No such file or directory")
NO_ROUTE = ("No route to host", "Network is unreachable", "Cannot assign requested address")
ENDED = (BrokenPipeError, ConnectionResetError, ConnectionRefusedError, FileNotFoundError)
MOST_TRIES = 3  # a login to the host that is lost each time is reported
CLEARTEXT = ("plain", "pam", "ldap")  # these values of PgBouncer's auth_type ask clients for the password itself


class LoginAddress(TypedDict):
    """libpq's host and port of a pooler."""

    host: str
    port: int


def address_of(pooler: Pooler, other_host: str = "", port: int | None = None) -> LoginAddress:
    """Return libpq's host and port of a pooler, or of another address of it: its own, or those of a tunnel there.

    Raises `PoolerUnreachable`.
    """
    pooler = at_address(pooler, other_host)
    host, at_port = deliveries.of(pooler).address_of(pooler, pooler.port if port is None else port)
    return {"host": host, "port": at_port}


def _pinned(pooler: Pooler, address: LoginAddress) -> list[LoginAddress]:
    """Resolve the host of an address once, so that what is connected to is what was judged, in the order to try them.

    No certificate is held against the name, so the addresses take its place. A tunnel, a socket, and a name that is not
    found are left as they are. Raises `PoolerUnreachable` for a forbidden address.
    """
    host, port = address["host"], address["port"]
    if host != pooler.host or host.startswith(("/", "@")):
        return [address]
    try:
        found = addresses.resolve(host, port)
    except OSError:
        return [address]
    if reason := addresses.refusal_of(host, port, found):
        text = _("pooler %(pooler)s can't be reached: %(reason)s")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler, "reason": reason})
    return [{"host": one, "port": port} for one in found]


def _connect_to_first(
    pooler: Pooler, connect: Callable[[LoginAddress], Connection], address: LoginAddress
) -> Connection:
    """Connect to the first of its addresses where something answers; raises what the last one did."""
    *others, last = _pinned(pooler, address)
    for one in others:
        try:
            return connect(one)
        except (psycopg.errors.ConnectionTimeout, OSError):
            continue
        except psycopg.OperationalError as error:
            if not (_is_connection_failure(error) or any(words in str(error) for words in NO_ROUTE)):
                raise
    return connect(last)


def connected(
    pooler: Pooler, connect: Callable[[LoginAddress], Connection], other_host: str = "", port: int | None = None
) -> Connection:
    """Connect to `address_of`; once more where the way to the pooler is another one now.

    That is where the login to its host was lost after the tunnel was asked for, or where its host refused the tunnel
    and is logged in to anew. Raises what `connect` raises, and `PoolerUnreachable` where the way itself ends before the
    pooler.
    """
    began, addressed = time.monotonic(), at_address(pooler, other_host)
    port = pooler.port if port is None else port
    address = address_of(pooler, other_host, port)
    for tries in range(1, MOST_TRIES + 1):
        try:
            return _connect_to_first(addressed, connect, address)
        except (psycopg.Error, *ENDED) as error:
            # psycopg keeps the error in a frame of its traceback. That circle would hold the callers' values too, and
            # so all pools of an apply, until the garbage collector has found each of them.
            clear_frames(error.__traceback__)
            if tries == MOST_TRIES or not _is_connection_failure(error):
                raise
            used, address = address, address_of(pooler, other_host, port)
            if address == used:
                if not deliveries.of(pooler).has_reconnected(addressed, port, began):
                    raise
                address = address_of(pooler, other_host, port)
    raise AssertionError  # the last try returns or raises


def _is_connection_failure(error: Exception) -> bool:
    return isinstance(error, OSError) or any(words in str(error) for words in NO_ANSWER)


def at_address(pooler: Pooler, other_host: str) -> Pooler:
    """Return the pooler with another address of it."""
    if not other_host:
        return pooler
    other = copy.copy(pooler)
    other.host = other_host
    return other


def refusing_cleartext(pooler: Pooler) -> endpoints.AuthRequirement:
    """Refuse clear-text passwords, since no TLS proves the pooler, unless its own settings ask for them."""
    chosen = pooler.settings.get("auth_type") in CLEARTEXT or pooler.settings.get("allow_clear_text_frontend_auth")
    return endpoints.refusing_cleartext(bool(chosen))


def reason_of(error: psycopg.Error) -> str:
    """Return the server's or libpq's own words, on one line, without the address it repeats."""
    if "server requested a cleartext password" in str(error):
        return _(
            "it asks for the password in clear text: let it ask for scram-sha-256, or set POOLDECK_CLEARTEXT_PASSWORDS"
        )
    return " ".join(str(error).split()).removeprefix("connection failed: ") or type(error).__name__
