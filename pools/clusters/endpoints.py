"""Endpoints: what a client needs to log in to a cluster or through a pool."""

from dataclasses import dataclass, field, replace
from typing import TypedDict

import psycopg
from django.conf import settings
from django.utils.translation import gettext as _

from pools.clusters import ca_files, topology
from pools.clusters.topology import Address
from pools.errors import NoStandby
from pools.models import Cluster, Entry, NodeRole, Pool, Pooler, SslMode

YOUR_ROLE = "YOUR_ROLE"
YOUR_DATABASE = "YOUR_DATABASE"  # the database of an entry that leads to whatever database its clients name
REQUIRE_AUTH_SINCE = 160_000
DEMANDING_TLS = ("require", "verify-ca", "verify-full")  # values of PgBouncer's client_tls_sslmode that require TLS


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address with a login; `sslrootcert` and its like are paths or empty, no `repr` shows the password.

    `hostaddr` is the address that the host's name was judged by, empty where libpq is to resolve it.

    `parameters` are further words of libpq with their values, which a user gave with the endpoint.
    """

    host: str
    port: int
    database: str
    user: str
    password: str | None = field(default=None, repr=False)
    sslmode: str = SslMode.PREFER.value
    sslrootcert: str = ""
    sslcert: str = ""
    sslkey: str = ""
    hostaddr: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    # Users who may not register servers read this text instead of the reason for a failed login.
    unreachable: str = field(default="", compare=False, repr=False)
    # Its password, too, shows who is at the address.
    is_panels_login: bool = field(default=False, compare=False, repr=False)

    @property
    def is_socket(self) -> bool:
        """True if the host is the directory of a Unix socket."""
        return self.host.startswith("/")

    @property
    def is_verified(self) -> bool:
        """True if the server proves its identity before a password is sent: a socket, or verified TLS."""
        return self.is_socket or self.sslmode in (SslMode.VERIFY_CA, SslMode.VERIFY_FULL)

    @property
    def address(self) -> str:
        """Host and port as people write them."""
        if self.is_socket:
            return f"{self.host}/.s.PGSQL.{self.port}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def without_password(self) -> "Endpoint":
        return replace(self, password=None)


class AuthRequirement(TypedDict, total=False):
    """libpq's `require_auth`; left out where libpq lacks it, or where any method may be used."""

    require_auth: str


def refusing_cleartext(is_chosen: bool) -> AuthRequirement:
    """Build libpq's `require_auth` (from 16 on): never send a clear-text password, unless that was chosen."""
    if is_chosen or settings.CLEARTEXT_PASSWORDS or psycopg.pq.version() < REQUIRE_AUTH_SINCE:
        return {}
    return {"require_auth": "!password"}


def of_cluster(cluster: Cluster, database: str | None = None, *, role: NodeRole = NodeRole.PRIMARY) -> Endpoint:
    """Return the cluster's primary, or its best standby, with the panel's login; see `at`. Raises `NoStandby`."""
    addresses = topology.addresses(cluster, role)
    if not addresses:
        raise NoStandby(
            _("cluster %(cluster)s has no known standby: add one to the cluster's nodes") % {"cluster": cluster}
        )
    return at(cluster, addresses[0], database)


def at(cluster: Cluster, address: Address, database: str | None = None) -> Endpoint:
    """Return one server of a cluster with the panel's login; the maintenance database where none is named."""
    host, port = address
    return Endpoint(
        host=host,
        port=port,
        database=database or cluster.maintenance_database,
        user=cluster.admin_user,
        password=cluster.admin_password or None,
        sslmode=cluster.sslmode,
        sslrootcert=ca_files.path_of(cluster.sslrootcert) if cluster.sslrootcert else "",
        unreachable=_("the panel can't reach cluster %(cluster)s; an admin sees the reason") % {"cluster": cluster},
        is_panels_login=True,
    )


def as_role(endpoint: Endpoint, cluster: Cluster, role: str, password: str | None = None) -> Endpoint:
    """Return the endpoint for another login of the cluster, with its password: the stored one where none is given."""
    password = password or cluster.password_of(role)
    return replace(endpoint, user=role, password=password, is_panels_login=role == cluster.admin_user)


def with_login(endpoint: Endpoint, user: str, password: str | None) -> Endpoint:
    """Return the endpoint for a login that was given; a stored password never stands in for one that it lacks."""
    is_panels_login = endpoint.is_panels_login and user == endpoint.user
    return replace(endpoint, user=user, password=password, is_panels_login=is_panels_login)


def address_of_pool(pool: Pool) -> Endpoint:
    """Return the address that clients are told, with the pool's name as the database, without a password: for lists.

    The user is empty for a pool of the inbound user, which takes any role its pooler knows.
    """
    host, port = pool.pooler.client_address
    return Endpoint(
        host,
        port,
        pool.name,
        pool.user,
        sslmode=_asked_by(pool.pooler),
    )


def _unreachable(pooler: Pooler) -> str:
    return _("the panel can't reach pooler %(pooler)s; an admin sees the reason") % {"pooler": pooler}


def address_of_entry(entry: Entry) -> Endpoint:
    """Return the address that clients are told, with an entry's name as the database, without a password."""
    host, port = entry.pooler.client_address
    database = entry.name if entry.database else YOUR_DATABASE
    return Endpoint(host, port, database, entry.user, sslmode=_asked_by(entry.pooler))


def of_entry(entry: Entry) -> Endpoint:
    """Return `address_of_entry` with the role that its clients work as, or a placeholder; no password is known."""
    return replace(address_of_entry(entry), user=entry.user or YOUR_ROLE)


def _asked_by(pooler: Pooler) -> str:
    """Return the sslmode that a client needs for this pooler: drivers differ in what they try by default."""
    demands = pooler.settings.get("client_tls_sslmode") in DEMANDING_TLS
    return SslMode.REQUIRE.value if demands else SslMode.PREFER.value


def of_pool(pool: Pool, role: str = "") -> Endpoint:
    """Return `address_of_pool` for the clients of a pool, with the password where the panel knows it.

    For a pool of the inbound user, show `role`, or a placeholder where none is named; never the panel's own login,
    which is often a superuser and belongs to no client.
    """
    user = pool.user or role or YOUR_ROLE
    address, unreachable = address_of_pool(pool), _unreachable(pool.pooler)
    return replace(address, user=user, password=_shown_password(pool, user), unreachable=unreachable)


def roles_shown(pool: Pool) -> list[str]:
    """List the roles, by name, whose password the panel knows for a pool of the inbound user."""
    if pool.user:
        return []
    known = pool.cluster.role_passwords.exclude(role__in=_of_the_panel(pool)).order_by("role")
    return list(known.values_list("role", flat=True))


def _of_the_panel(pool: Pool) -> set[str]:
    return {pool.cluster.admin_user, pool.cluster.auth_role}


def _shown_password(pool: Pool, user: str) -> str | None:
    if not pool.user and user in _of_the_panel(pool):
        return None
    return pool.cluster.password_of(user)


def for_panel(pool: Pool) -> Endpoint:
    """Return the pool at its pooler's own address, with the login of the panel's runs (`Pool.login`); never shown."""
    pooler = pool.pooler
    through = replace(address_of_pool(pool), host=pooler.host, port=pooler.port, unreachable=_unreachable(pooler))
    return replace(through, user=pool.login, password=pool.cluster.password_of(pool.login))


def for_run(entry: Entry, user: str, password: str, database: str = "") -> Endpoint:
    """Return an entry at its pooler's own address, with the login that somebody gave; never shown.

    `database` is what clients name where the entry leads to any database.
    """
    named = entry.name if entry.database else database
    through = replace(address_of_entry(entry), host=entry.pooler.host, port=entry.pooler.port)
    return replace(through, database=named, user=user, password=password)
