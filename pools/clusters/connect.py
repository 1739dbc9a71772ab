"""Logs in to PostgreSQL, to a cluster or through a pool, and reports the cause of a failure."""

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

import psycopg
from django.conf import settings
from django.utils.translation import gettext as _
from psycopg import sql

from core.lib import addresses
from core.lib.crypto import SealBroken
from pools.clusters import endpoints, login_errors
from pools.clusters.endpoints import Endpoint
from pools.clusters.topology import Address
from pools.errors import ClusterUnreachable
from pools.models import Cluster

CONNECT_TIMEOUT_S = 5
# A time-out of the whole cluster, of a database or of the admin role must not end what the panel does there: a
# restoration least of all. As start-up options, these hold before the first statement.
TIMEOUTS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
LATER_TIMEOUTS = {140_000: "idle_session_timeout", 170_000: "transaction_timeout"}
# A pooler before the server answers this, because it passes no options on.
NO_OPTIONS = "unsupported startup parameter"
Connection = psycopg.Connection[tuple[Any, ...]]


class SessionOptions(TypedDict):
    """The options of a session beside its endpoint."""

    application_name: str
    connect_timeout: int


def connect(
    cluster: Cluster,
    *,
    at: Address | None = None,
    database: str | None = None,
    user: str | None = None,
    password: str | None = None,
    application_name: str = "pooldeck",
    connect_timeout: int = CONNECT_TIMEOUT_S,
) -> Connection:
    """Open an autocommit connection to the cluster, as its admin or as `user` (`password`: else the stored one).

    Connects to the primary that the last checks found, unless `at` names one of the cluster's servers.
    Raises `ClusterUnreachable`, whose message names the cause and the remedy.
    """
    endpoint = _admin_endpoint(cluster, at, database)
    if user is not None:
        endpoint = endpoints.as_role(endpoint, cluster, user, password)
    options: SessionOptions = {"application_name": application_name, "connect_timeout": connect_timeout}
    try:
        connection = connect_endpoint(endpoint, **options, options=_zero(TIMEOUTS))
    except ClusterUnreachable as error:
        if NO_OPTIONS not in error.words:
            raise
        return _without(connect_endpoint(endpoint, **options), TIMEOUTS)
    later = [name for since, name in LATER_TIMEOUTS.items() if connection.info.server_version >= since]
    try:
        return _without(connection, later)
    except ClusterUnreachable:  # it was quicker than the first statement
        return connect_endpoint(endpoint, **options, options=_zero([*TIMEOUTS, *later]))


def _zero(names: Iterable[str]) -> str:
    return " ".join(f"-c {name}=0" for name in names)


def _without(connection: Connection, names: Sequence[str]) -> Connection:
    """Switch these time-outs off; raises `ClusterUnreachable` where one of them ended the session first."""
    try:
        if names:
            connection.execute(sql.SQL("; ").join(sql.SQL("SET {} = 0").format(sql.Identifier(name)) for name in names))
    except psycopg.Error as error:
        connection.close()
        raise ClusterUnreachable(_("the server ended the session at once: %(error)s") % {"error": error}) from None
    return connection


def connect_endpoint(
    endpoint: Endpoint,
    *,
    application_name: str = "pooldeck",
    connect_timeout: int = CONNECT_TIMEOUT_S,
    options: str = "",
    require_auth: str = "",
) -> Connection:
    """Open an autocommit connection to an endpoint; `connect_timeout` in seconds. Raises `ClusterUnreachable`.

    `options` are the server's start-up options; poolers refuse them. `require_auth`: the only method by which to log
    in, as libpq names it (from 16 on).
    """
    parameters = _parameters(endpoint) | {"application_name": application_name, "connect_timeout": connect_timeout}
    parameters |= {"options": options} if options else {}
    parameters |= {"require_auth": require_auth} if require_auth else {}
    errors = []
    for pinned in _pinned(endpoint):
        try:
            return psycopg.connect(autocommit=True, **parameters, **pinned)
        except (psycopg.Error, UnicodeError) as error:
            errors.append(str(error))
    cause, message = login_errors.explain("\n".join(errors), endpoint, connect_timeout)
    # `from None`: libpq's errors carry the connection's parameters, the password among them
    raise ClusterUnreachable(
        login_errors.readable(cause, message, endpoint), cause, login_errors.one_line("\n".join(errors), endpoint)
    ) from None


class HostAddress(TypedDict, total=False):
    """The checked address that libpq uses for a host."""

    hostaddr: str


def _pinned(endpoint: Endpoint) -> list[HostAddress]:
    """Resolve the host once, into libpq's `hostaddr` for each address, so that only checked addresses are used.

    Raises `ClusterUnreachable` for a forbidden address. A name that is not found is left to libpq to report.
    """
    if endpoint.is_socket:
        return [{}]
    try:
        ip_addresses = addresses.resolve(endpoint.host, endpoint.port)
    except OSError:
        return [{}]
    if reason := addresses.refusal_of(endpoint.host, endpoint.port, ip_addresses):
        forbidden = login_errors.Cause.FORBIDDEN
        raise ClusterUnreachable(login_errors.readable(forbidden, reason, endpoint), forbidden)
    return [{"hostaddr": address} for address in ip_addresses]


def _admin_endpoint(cluster: Cluster, at: Address | None, database: str | None) -> Endpoint:
    try:
        return endpoints.at(cluster, at, database) if at else endpoints.of_cluster(cluster, database)
    except SealBroken:
        raise ClusterUnreachable(
            _("the stored password of %(user)r can't be decrypted with the present keys: enter it again")
            % {"user": cluster.admin_user}
        ) from None
    except OSError as error:
        raise ClusterUnreachable(
            _("the file of the certificate authority can't be written: %(error)s") % {"error": error}
        ) from error


def _parameters(endpoint: Endpoint) -> dict[str, Any]:
    """Build libpq's parameters; pin those that libpq would take from the panel's environment or home directory."""
    pinned = {
        "passfile": str(settings.HOME / "no-passfile"),
        "target_session_attrs": "any",
        "gssencmode": "disable",
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
    }
    login = {
        "host": endpoint.host,
        "port": endpoint.port,
        "dbname": endpoint.database,
        "user": endpoint.user,
        "password": endpoint.password or "",
        "sslmode": endpoint.sslmode,
    }
    files = {name: path for name in ("sslrootcert", "sslcert", "sslkey") if (path := getattr(endpoint, name))}
    return pinned | login | files | dict(endpoint.parameters) | endpoints.refusing_cleartext(endpoint.is_verified)
