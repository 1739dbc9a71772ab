"""Records for tests, saved as they would be after a verb, without asking any server."""

from itertools import count
from typing import Any

from django.utils import timezone

from pools.models import (
    Cluster,
    ClusterNode,
    ClusterState,
    ClusterStatus,
    Entry,
    Pool,
    Pooler,
    RolePassword,
)

_numbers = count(1)


def a_cluster(admin_password: str = "admin-secret", **fields: Any) -> Cluster:
    """A cluster that nothing listens at: port 1 of this machine."""
    values = {"name": f"cluster-{next(_numbers)}", "host": "127.0.0.1", "port": 1, "admin_user": "postgres"} | fields
    cluster = Cluster(**values)
    cluster.admin_password = admin_password
    cluster.save(force_insert=True)
    return cluster


def a_pooler(**fields: Any) -> Pooler:
    """A PgBouncer that is not there either."""
    values = {"name": f"pooler-{next(_numbers)}", "host": "127.0.0.1", "config_dir": "/nowhere"} | fields
    return Pooler.objects.create(**values)


def three_processes() -> list[dict[str, object]]:
    """The processes of a PgBouncer as a check finds three that share a port, and the main file of one never started."""
    states = {"": "online", "-2": "online", "-3": "unreachable", "-4": "stopped"}
    usual = {"main_file": "", "pid": None, "socket": "", "peer_id": None, "version": "1.24.1"}
    return [{"name": f"pgbouncer{number}.ini", "state": state} | usual for number, state in states.items()]


def a_pool(**fields: Any) -> Pool:
    """A pool of 10 connections, on a pooler and a cluster of its own where none are given."""
    values = {"name": f"pool-{next(_numbers)}", "database": "shop", "user": "app", "size": 10} | fields
    if "cluster" not in values:
        values["cluster"] = a_cluster()
    if "pooler" not in values:
        values["pooler"] = a_pooler()
    return Pool.objects.create(**values)


def an_entry(**fields: Any) -> Entry:
    """An entry of 20 connections for each role, on a watched pooler of its own where none is given."""
    usual = {"host": "127.0.0.1", "port": 1, "database": "shop", "size": 20, "mode": "transaction"}
    values = {"name": f"entry-{next(_numbers)}", "seen_at": timezone.now()} | usual | fields
    if "pooler" not in values:
        values["pooler"] = a_pooler(config_dir="")
    return Entry.objects.create(**values)


def know_password(cluster: Cluster, role: str, password: str) -> RolePassword:
    """Let the panel know a role's password."""
    known = RolePassword(cluster=cluster, role=role)
    known.password = password
    known.save(force_insert=True)
    return known


def checked(cluster: Cluster, **found: Any) -> ClusterStatus:
    """The cluster as a good check left it: 100 connections, databases shop and postgres, roles app and nologin."""
    values: dict[str, Any] = {
        "state": ClusterState.ONLINE,
        "server_version": "15.18",
        "server_version_num": 150018,
        "max_connections": 100,
        "superuser_reserved_connections": 3,
        "reserved_connections": 0,
        "databases": [{"name": name, "owner": "postgres", "size_bytes": 1} for name in ("postgres", "shop")],
        "roles": [
            {"name": name, "can_login": name != "nologin", "superuser": name == "postgres", "connection_limit": -1}
            for name in ("app", "nologin", "postgres")
        ],
    }
    status, _ = ClusterStatus.objects.get_or_create(cluster=cluster)
    status.record(**values | found)
    return status


def a_node(cluster: Cluster, **fields: Any) -> ClusterNode:
    """A further server of a cluster that nothing listens at, last seen as a standby that keeps up."""
    found = {"state": ClusterState.ONLINE, "in_recovery": True, "streaming": True, "lag_bytes": 0, "lag_s": 0.0}
    values = {"host": "127.0.0.1", "port": 2} | found | fields
    if values["in_recovery"] is not True:
        values |= dict.fromkeys(("streaming", "lag_bytes", "lag_s"))
    return ClusterNode.objects.create(cluster=cluster, **values)
