"""Endpoints: all that a client needs to log in, whether to a cluster or through a pool."""

from dataclasses import dataclass, field, replace

from pools import certificates
from pools.errors import NoStandby
from pools.models import Cluster, NodeRole, Pool, Pooler, SslMode
from pools.servers import places
from pools.servers.places import Address

YOUR_ROLE = "YOUR_ROLE"
DEMANDING_TLS = ("require", "verify-ca", "verify-full")  # of PgBouncer's client_tls_sslmode


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to log in and as whom; `sslrootcert` and its like are paths or empty, no `repr` shows the password."""

    host: str
    port: int
    database: str
    user: str
    password: str | None = field(default=None, repr=False)
    sslmode: str = SslMode.PREFER.value
    sslrootcert: str = ""
    sslcert: str = ""
    sslkey: str = ""

    @property
    def is_socket(self) -> bool:
        """Whether the host is the directory of a Unix socket."""
        return self.host.startswith("/")

    @property
    def address(self) -> str:
        """Host and port as people write them."""
        if self.is_socket:
            return f"{self.host}/.s.PGSQL.{self.port}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def without_password(self) -> "Endpoint":
        """The same, fit to be shown."""
        return replace(self, password=None)


def of_cluster(cluster: Cluster, database: str | None = None, *, role: NodeRole = NodeRole.PRIMARY) -> Endpoint:
    """The cluster's primary, or its best standby, with the panel's login; see `at`. Raises `NoStandby`."""
    found = places.addresses(cluster, role)
    if not found:
        raise NoStandby(f"cluster {cluster} has no standby that the panel knows: add it among the cluster's nodes")
    return at(cluster, found[0], database)


def at(cluster: Cluster, address: Address, database: str | None = None) -> Endpoint:
    """One server of a cluster with the panel's login; the maintenance database where none is named."""
    host, port = address
    return Endpoint(
        host=host,
        port=port,
        database=database or cluster.maintenance_database,
        user=cluster.admin_user,
        password=cluster.admin_password or None,
        sslmode=cluster.sslmode,
        sslrootcert=certificates.path_of(cluster.sslrootcert) if cluster.sslrootcert else "",
    )


def address_of_pool(pool: Pool) -> Endpoint:
    """The pooler's address with the pool's name as the database, without the password: fit for lists.

    A pool of the inbound user takes any role its pooler knows; it is shown with the cluster's admin login, the
    one whose password the panel holds. The user is empty where that one can't log in (`Pool.login`).
    """
    pooler = pool.pooler
    return Endpoint(pooler.host, pooler.port, pool.name, pool.login, sslmode=_asked_by(pooler))


def _asked_by(pooler: Pooler) -> str:
    """What a client has to say for a pooler that takes no other than TLS: drivers differ in what they try unasked."""
    demands = pooler.settings.get("client_tls_sslmode") in DEMANDING_TLS
    return SslMode.REQUIRE.value if demands else SslMode.PREFER.value


def of_pool(pool: Pool) -> Endpoint:
    """`address_of_pool` with the password, None where the panel doesn't know it; a user to be filled in for none."""
    if not pool.login:
        return replace(address_of_pool(pool), user=YOUR_ROLE)
    return replace(address_of_pool(pool), password=pool.cluster.password_of(pool.login))
