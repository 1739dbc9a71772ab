"""Records that need no server: a cluster that a check once saw, a pooler that is down, a pool."""

import pytest

from pools.models import Cluster, ClusterState, ClusterStatus, Mode, Pool, Pooler, PoolState
from tests.callers import bearer

NOBODY_LISTENS = 1  # a port that refuses


def make_cluster(name="shop", **status):
    cluster = Cluster(name=name, host="127.0.0.1", port=NOBODY_LISTENS, admin_user="postgres", sslmode="disable")
    cluster.admin_password = "cluster-secret"
    cluster.save(force_insert=True)
    seen = {
        "state": ClusterState.ONLINE,
        "server_version": "15.14",
        "server_version_num": 150014,
        "max_connections": 100,
        "superuser_reserved_connections": 3,
        "reserved_connections": 0,
        "used_connections": 7,
        "databases": [{"name": "app", "owner": "app", "size_bytes": 1}],
        "roles": [{"name": "postgres", "can_login": True, "superuser": True, "connection_limit": -1}],
    }
    ClusterStatus.objects.create(cluster=cluster, **(seen | status))
    return cluster


def make_pooler(name="front", **fields):
    pooler = Pooler(name=name, host="127.0.0.1", port=NOBODY_LISTENS, config_dir=f"/nowhere/{name}", **fields)
    pooler.admin_password = "console-secret"
    pooler.save(force_insert=True)
    return pooler


def make_pool(cluster, pooler, name="app", **fields):
    values = {"database": "app", "mode": Mode.TRANSACTION, "size": 10, "state": PoolState.APPLIED} | fields
    return Pool.objects.create(name=name, cluster=cluster, pooler=pooler, **values)


@pytest.fixture
def cluster(db):
    return make_cluster()


@pytest.fixture
def pooler(db):
    return make_pooler()


@pytest.fixture
def pool(cluster, pooler):
    return make_pool(cluster, pooler)


@pytest.fixture
def admin(db):
    return bearer()
