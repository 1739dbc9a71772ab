"""Clusters, users, databases and pools in the provider's shape.

No `connection` or `private_connection` is ever null: the provider's command-line client crashes on one.
"""

from dataclasses import replace
from datetime import datetime
from typing import NotRequired, TypedDict

from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint
from pools.connection_strings import uri
from pools.errors import NoStandby
from pools.models import (
    Cluster,
    ClusterCreation,
    ClusterState,
    ClusterStatus,
    NodeRole,
    Pool,
    PoolState,
    ShelfEntry,
    SslMode,
)

ENGINE = "pg"
REGION = "local"  # the region of a cluster that was never on the shelf
MIB_PER_GB = 1024
VERSION_NUM = 10_000  # PostgreSQL 15.4 is 150004
ENCRYPTED = (SslMode.REQUIRE, SslMode.VERIFY_CA, SslMode.VERIFY_FULL)
Passwords = dict[str, str]


class Window(TypedDict):
    """The hours in which the provider would maintain a cluster."""

    day: str
    hour: str
    pending: bool
    description: list[str]


class Connection(TypedDict):
    """An address with a login; `ssl` is whether TLS is certain to be used."""

    protocol: str
    uri: str
    database: str
    host: str
    port: int
    user: str
    password: str
    ssl: bool


class PoolShape(TypedDict):
    """A pool; only one that clients can't use has `state` and `state_reason`."""

    name: str
    user: str
    db: str
    mode: str
    size: int
    connection: Connection
    private_connection: Connection
    state: NotRequired[str]
    state_reason: NotRequired[str]


class UserShape(TypedDict):
    """A role."""

    name: str
    role: str
    password: str
    settings: NotRequired[dict[str, object]]


class Standby(TypedDict, total=False):
    """The addresses of a standby; left out where there is none."""

    standby_connection: Connection
    standby_private_connection: Connection


class OfTheProvider(Standby):
    """The provider's features that this panel lacks, empty."""

    maintenance_window: Window
    private_network_uuid: str
    project_id: str
    rules: list[object]
    metrics_endpoints: list[object]
    storage_autoscale: dict[str, object]


class ClusterShape(OfTheProvider):
    """A cluster, or one that is being created."""

    id: str
    name: str
    engine: str
    version: str
    semantic_version: str
    num_nodes: int
    size: str
    region: str
    status: str
    created_at: datetime
    connection: Connection
    private_connection: Connection
    users: list[UserShape]
    db_names: list[str]
    tags: list[str]
    storage_size_mib: int


NO_WINDOW: Window = {"day": "", "hour": "", "pending": False, "description": []}
NO_AUTOSCALE: dict[str, object] = {"enabled": False, "threshold_percent": 0, "increment_gib": 0}

NO_CONNECTION: Connection = {
    "protocol": "postgresql",
    "uri": "postgresql://",
    "database": "",
    "host": "",
    "port": 0,
    "user": "",
    "password": "",
    "ssl": False,
}


def passwords_of(cluster: Cluster, *, reveals: bool) -> Passwords:
    """Return the passwords that the panel knows, by role; none for a caller who may not see them."""
    if not reveals:
        return {}
    known = {one.role: one.password for one in cluster.role_passwords.all()}
    return known | ({cluster.admin_user: cluster.admin_password} if cluster.admin_password else {})


def connection(endpoint: Endpoint) -> Connection:
    """Describe where to log in."""
    return {
        "protocol": "postgresql",
        "uri": uri.render(endpoint),
        "database": endpoint.database,
        "host": endpoint.host,
        "port": endpoint.port,
        "user": endpoint.user,
        "password": endpoint.password or "",
        "ssl": endpoint.sslmode in ENCRYPTED,
    }


def pool(pool: Pool, passwords: Passwords) -> PoolShape:
    """Describe a pool; a pool of the inbound user has an empty `user`, and no password.

    The protocol has no word for a pool that clients can't use: only such a pool has `state` and `state_reason`.
    """
    endpoint = replace(endpoints.address_of_pool(pool), password=passwords.get(pool.user))
    shape: PoolShape = {
        "name": pool.name,
        "user": pool.user,
        "db": pool.database,
        "mode": pool.mode,
        "size": pool.size,
        "connection": connection(endpoint),
        "private_connection": connection(endpoint),
    }
    if pool.state == PoolState.FAILING:
        shape["state"], shape["state_reason"] = pool.state, pool.state_reason
    return shape


def user(cluster: Cluster, name: str, passwords: Passwords, settings: dict[str, object] | None = None) -> UserShape:
    """Describe a role; the panel's own login has the role `primary`.

    It has `settings` where the client just sent an (empty) object: Terraform takes one for a block, and plans for ever
    to remove one that its configuration lacks, and to add one that the answer lacks.
    """
    role = "primary" if name == cluster.admin_user else "normal"
    shape: UserShape = {"name": name, "role": role, "password": passwords.get(name, "")}
    if settings is not None:
        shape["settings"] = settings
    return shape


def cluster(cluster: Cluster, *, reveals: bool) -> ClusterShape:
    """Describe a cluster as its last check found it."""
    passwords = passwords_of(cluster, reveals=reveals)
    status = getattr(cluster, "status", None) or ClusterStatus(cluster=cluster)
    entry: ShelfEntry | None = getattr(cluster, "shelf_entry", None)
    direct = connection(_with_known_password(endpoints.of_cluster(cluster), passwords))
    shape: ClusterShape = {
        "id": str(cluster.pk),
        "name": cluster.name,
        "engine": ENGINE,
        "version": major_version(status),
        "semantic_version": status.server_version,
        "num_nodes": 1 + len(cluster.nodes.all()),
        "size": entry.size if entry else _size(cluster),
        "region": entry.region if entry else REGION,
        "status": "online" if status.state == ClusterState.ONLINE else "creating",
        "created_at": (entry and entry.claimed_at) or cluster.created_at,
        "connection": direct,
        "private_connection": direct,
        "users": [user(cluster, role["name"], passwords) for role in status.roles if role["can_login"]],
        "db_names": [database["name"] for database in status.databases],
        "tags": entry.tags if entry else [],
        "storage_size_mib": (cluster.disk_gb or 0) * MIB_PER_GB,
        **_of_the_provider(),
        "maintenance_window": {**NO_WINDOW, **cluster.maintenance_window},
    }
    if standby := _standby(cluster, passwords):
        shape["standby_connection"] = shape["standby_private_connection"] = standby
    return shape


def creation(creation: ClusterCreation) -> ClusterShape:
    """Describe a cluster that is being created, as far as it is known: as its client asked for it."""
    return {
        "id": creation.key,
        "name": creation.name,
        "engine": ENGINE,
        "version": creation.version,
        "semantic_version": "",
        "num_nodes": creation.nodes,
        "size": creation.size,
        "region": creation.region,
        "status": "creating",
        "created_at": creation.created_at,
        "connection": NO_CONNECTION,
        "private_connection": NO_CONNECTION,
        "users": [],
        "db_names": [],
        "tags": creation.tags,
        "storage_size_mib": 0,
        **_of_the_provider(),
    }


def _of_the_provider() -> OfTheProvider:
    """Return empty values for features that the panel lacks and that clients read."""
    return {
        "maintenance_window": NO_WINDOW,
        "private_network_uuid": "",
        "project_id": "",
        "rules": [],
        "metrics_endpoints": [],
        "storage_autoscale": NO_AUTOSCALE,
    }


def _standby(cluster: Cluster, passwords: Passwords) -> Connection | None:
    try:
        endpoint = endpoints.of_cluster(cluster, role=NodeRole.STANDBY)
    except NoStandby:
        return None
    return connection(_with_known_password(endpoint, passwords))


def _with_known_password(endpoint: Endpoint, passwords: Passwords) -> Endpoint:
    return replace(endpoint, password=passwords.get(endpoint.user))


def major_version(status: ClusterStatus) -> str:
    """Return the major release, such as 15; empty before a check succeeded."""
    return str(status.server_version_num // VERSION_NUM) if status.server_version_num else ""


def _size(cluster: Cluster) -> str:
    """Name the size of a cluster that was never on the shelf, in the provider's manner where its figures are known."""
    if not cluster.vcpus or not cluster.memory_mb:
        return "custom"
    return f"db-s-{cluster.vcpus}vcpu-{max(1, cluster.memory_mb // 1024)}gb"
