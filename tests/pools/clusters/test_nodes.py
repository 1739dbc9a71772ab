"""Adding and removing nodes, and pools that follow, where nothing answers (tests/live has those that do)."""

import pytest

from core.lib.private_text import for_admins
from pools.clusters import failover, health_check, nodes
from pools.errors import ClusterUnreachable, IllegalTransition
from pools.models import Cluster, ClusterNode, ClusterState, NodeRole, Pool, PoolerKind, PoolState
from tests.pools.conftest import Asked
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db

GOOD = {"host": "127.0.0.1", "port": 2, "admin_password": "admin-secret"}


@pytest.fixture
def cluster() -> Cluster:
    """A primary on timeline 1."""
    cluster = a_cluster(name="shop")
    checked(cluster, in_recovery=False, timeline=1)
    return cluster


@pytest.mark.parametrize(
    ("values", "field", "message"),
    [
        ({"host": ""}, "host", "a host name, an address or a socket directory is needed"),
        ({"host": "a,b"}, "host", "'a,b' names several hosts: register each as a cluster of its own"),
        ({"port": 70000}, "port", "70000 is not a port: enter a number from 1 to 65535"),
        ({"port": 1}, "host", "127.0.0.1:1 is the cluster's own address: add its other servers here"),
        ({"port": 3}, "host", "127.0.0.1:3 is already a node of cluster shop"),
        (
            {"admin_password": ""},
            "admin_password",
            "the stored password belongs to postgres@127.0.0.1:1: enter it to let the panel use it at 127.0.0.1:2",
        ),
        (
            {"admin_password": "not-it"},
            "admin_password",
            "this is not the password of postgres that is stored for 127.0.0.1:1: enter that one",
        ),
    ],
)
def test_each_problem_is_named_by_field(cluster: Cluster, values: dict, field: str, message: str) -> None:
    a_node(cluster, port=3)
    with pytest.raises(nodes.InvalidNode) as refused:
        nodes.add(cluster, GOOD | values)
    assert refused.value.errors == {field: [message]}
    assert ClusterNode.objects.count() == 1


def test_a_server_that_does_not_answer_is_not_added(cluster: Cluster) -> None:
    with pytest.raises(ClusterUnreachable, match=r"connection refused: nothing listens at 127\.0\.0\.1:2"):
        nodes.add(cluster, GOOD)
    assert not ClusterNode.objects.exists()


def test_a_password_that_no_key_opens_is_said_and_nothing_is_added(cluster: Cluster) -> None:
    cluster.sealed_admin_password = "rubbish"
    with pytest.raises(
        nodes.InvalidNode, match="can't be decrypted with the present keys: enter it on the cluster again"
    ):
        nodes.add(cluster, GOOD)


def test_a_check_that_fails_keeps_the_role_and_forgets_the_lag(cluster: Cluster) -> None:
    node = a_node(cluster, lag_bytes=7, lag_s=1.5)
    nodes.check(node)
    node.refresh_from_db()
    assert (node.state, node.in_recovery, node.streaming) == (ClusterState.UNREACHABLE, True, None)
    assert (node.lag_bytes, node.lag_s) == (None, None)
    assert for_admins(node.error).startswith("connection refused")


def test_all_servers_of_a_cluster_are_checked(cluster: Cluster) -> None:
    a_node(cluster, port=2)
    a_node(cluster, port=3)
    health_check.check_all()
    assert ClusterNode.objects.filter(state=ClusterState.UNREACHABLE).count() == 2


def test_a_node_that_pools_need_stays(cluster: Cluster) -> None:
    node = a_node(cluster)
    pool = a_pool(cluster=cluster, name="reading", target=NodeRole.STANDBY)
    with pytest.raises(IllegalTransition, match=r"pool reading routes to a standby, and 127.0.0.1:2 is the last"):
        nodes.remove(node)
    other = a_node(cluster, port=3)
    nodes.remove(other)
    pool.delete()
    nodes.remove(node)
    assert not ClusterNode.objects.exists()


def test_the_primary_stays_while_pools_lead_there(cluster: Cluster) -> None:
    node = a_node(cluster, in_recovery=False, timeline=2)
    a_pool(cluster=cluster)
    with pytest.raises(IllegalTransition, match="is now the primary of cluster shop: give the cluster that address"):
        nodes.remove(node)
    assert ClusterNode.objects.exists()


def test_a_primary_that_moves_takes_all_pools_with_it(cluster: Cluster) -> None:
    pool, other = a_pool(cluster=cluster, state=PoolState.APPLIED), a_pool(state=PoolState.APPLIED)
    node = a_node(cluster, in_recovery=True)
    with failover.pools_of(cluster) as poolers:
        node.record(in_recovery=False, timeline=2)
    assert poolers == {pool.pooler_id}
    pool.refresh_from_db()
    assert (pool.state, pool.state_reason) == (PoolState.PENDING, "the primary moved from 127.0.0.1:1 to 127.0.0.1:2")
    assert Pool.objects.get(pk=other.pk).state == PoolState.APPLIED


def test_new_standbys_concern_pools_that_lead_there_and_pgpools(cluster: Cluster) -> None:
    plain = a_pool(cluster=cluster, state=PoolState.APPLIED)
    reading = a_pool(cluster=cluster, target=NodeRole.STANDBY, state=PoolState.APPLIED)
    balanced = a_pool(cluster=cluster, pooler=a_pooler(kind=PoolerKind.PGPOOL), state=PoolState.APPLIED)
    with failover.pools_of(cluster) as poolers:
        a_node(cluster)
    assert poolers == {reading.pooler_id, balanced.pooler_id}
    assert Pool.objects.get(pk=plain.pk).state == PoolState.APPLIED
    assert Pool.objects.get(pk=reading.pk).state_reason == "the standbys are now 127.0.0.1:2"


def test_a_first_standby_that_stops_answering_gives_way(cluster: Cluster) -> None:
    reading = a_pool(cluster=cluster, target=NodeRole.STANDBY, state=PoolState.APPLIED)
    first, _ = a_node(cluster, port=2), a_node(cluster, port=3)
    with failover.pools_of(cluster):
        first.record(state=ClusterState.UNREACHABLE)
    reading.refresh_from_db()
    assert (reading.state, reading.state_reason) == (
        PoolState.PENDING,
        "the first standby is now 127.0.0.1:3, as another stopped answering",
    )


def test_nothing_is_applied_when_nothing_moved(cluster: Cluster) -> None:
    a_pool(cluster=cluster, target=NodeRole.STANDBY, state=PoolState.APPLIED)
    node = a_node(cluster)
    with failover.pools_of(cluster) as poolers:
        node.record(lag_bytes=5)
    assert poolers == set()


def test_the_poolers_of_a_removed_standby_are_asked_for(cluster: Cluster, asked: Asked) -> None:
    pool = a_pool(cluster=cluster, target=NodeRole.STANDBY, state=PoolState.APPLIED)
    a_node(cluster, port=3)
    nodes.remove(a_node(cluster, port=2))
    assert asked() == [str(pool.pooler_id)]
