"""Pools that lead to a standby: who may, and how it is asked for."""

import pytest

from pools.clusters import endpoints
from pools.errors import NoStandby
from pools.inventory import pool_validation, pools
from pools.models import NodeRole, Pool, PoolerKind
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked, know_password

pytestmark = pytest.mark.django_db


def problems(**fields):
    pool = a_pool(target=NodeRole.STANDBY, **fields)
    return [message for field, message in pool_validation.problems(pool) if field == "target"]


def test_a_standby_must_be_known() -> None:
    cluster = a_cluster(name="shop")
    assert problems(cluster=cluster) == [
        "cluster shop has no standby that the panel knows: add it among the cluster's nodes"
    ]
    a_node(cluster)
    assert problems(cluster=cluster) == []


def test_a_pgpool_spreads_reads_by_itself() -> None:
    cluster = a_cluster()
    a_node(cluster)
    reported = ["a Pgpool-II spreads reads over the standbys by itself: let the pool route to the primary"]
    pgpool = a_pooler(kind=PoolerKind.PGPOOL)
    assert problems(cluster=cluster, pooler=pgpool) == reported
    assert problems(cluster=cluster, through=pgpool) == reported


def test_another_word_is_refused() -> None:
    assert [one for one in pool_validation.problems(a_pool(target="leader")) if one[0] == "target"] == [
        ("target", "'leader' is not a target: choose one of primary, standby")
    ]


def test_the_target_is_kept_and_changed(asked) -> None:
    cluster = a_cluster()
    checked(cluster)
    a_node(cluster)
    know_password(cluster, "app", "app-secret")
    values = {"name": "reading", "pooler": a_pooler(), "cluster": cluster, "database": "shop", "user": "app", "size": 5}
    pool = pools.create(values | {"target": "standby"})
    assert Pool.objects.get().target == NodeRole.STANDBY
    pools.change(pool, {"size": 6}, None)
    assert Pool.objects.get().target == NodeRole.STANDBY
    pools.change(pool, {"target": "primary"}, None)
    assert Pool.objects.get().target == NodeRole.PRIMARY


def test_endpoints_of_each_role() -> None:
    cluster = a_cluster(name="shop")
    with pytest.raises(NoStandby, match="cluster shop has no known standby"):
        endpoints.of_cluster(cluster, role=NodeRole.STANDBY)
    a_node(cluster)
    assert endpoints.of_cluster(cluster).port == 1
    assert endpoints.of_cluster(cluster, "shop", role=NodeRole.STANDBY).port == 2
