"""Which server of a cluster is its primary, as the last checks found it."""

import pytest

from pools.clusters import topology
from pools.models import Cluster, ClusterNode, ClusterState, ClusterStatus, NodeRole
from tests.pools.records import a_cluster, a_node, checked

pytestmark = pytest.mark.django_db

OWN, FIRST, SECOND = ("127.0.0.1", 1), ("127.0.0.1", 2), ("127.0.0.1", 3)


@pytest.fixture
def cluster() -> Cluster:
    """A primary on timeline 1."""
    cluster = a_cluster()
    checked(cluster, in_recovery=False, timeline=1)
    return cluster


def own(cluster: Cluster, **found: object) -> Cluster:
    ClusterStatus.objects.filter(cluster=cluster).update(**found)
    return Cluster.objects.get(pk=cluster.pk)


def both(cluster: Cluster) -> tuple[topology.Address, list[topology.Address]]:
    (primary,) = topology.addresses(cluster, NodeRole.PRIMARY)
    return primary, topology.addresses(cluster, NodeRole.STANDBY)


def test_a_cluster_alone_is_its_own_primary(cluster: Cluster) -> None:
    assert both(cluster) == (OWN, [])
    assert both(a_cluster()) == (OWN, [])


def test_a_standby_registered_alone_is_both(cluster: Cluster) -> None:
    assert both(own(cluster, in_recovery=True, timeline=None)) == (OWN, [OWN])


def test_standbys_that_answer_come_first(cluster: Cluster) -> None:
    a_node(cluster, port=2, state=ClusterState.UNREACHABLE)
    a_node(cluster, port=3)
    assert both(cluster) == (OWN, [SECOND, FIRST])


def test_a_node_never_asked_is_neither(cluster: Cluster) -> None:
    a_node(cluster, port=2, in_recovery=None, state=ClusterState.UNKNOWN)
    assert both(cluster) == (OWN, [])


def test_a_promoted_node_is_the_primary(cluster: Cluster) -> None:
    a_node(cluster, port=2, in_recovery=False, timeline=2)
    a_node(cluster, port=3)
    assert both(own(cluster, state=ClusterState.UNREACHABLE)) == (FIRST, [SECOND])
    assert both(own(cluster, in_recovery=True, timeline=None, state=ClusterState.ONLINE)) == (FIRST, [OWN, SECOND])


def test_of_two_that_say_they_are_the_later_timeline_counts_even_while_down(cluster: Cluster) -> None:
    a_node(cluster, port=2, in_recovery=False, timeline=2, state=ClusterState.UNREACHABLE)
    assert both(cluster) == (FIRST, [])
    assert [place.address for place in topology.other_primaries(cluster)] == [OWN]


def test_of_two_on_one_timeline_the_one_that_answers_counts(cluster: Cluster) -> None:
    a_node(cluster, port=2, in_recovery=False, timeline=1)
    assert both(cluster)[0] == OWN
    assert both(own(cluster, state=ClusterState.UNREACHABLE))[0] == FIRST


def test_a_node_at_the_clusters_own_address_counts_once(cluster: Cluster) -> None:
    a_node(cluster, port=1)
    assert both(cluster) == (OWN, [])


def test_prefetched_records_are_not_read_again(cluster: Cluster, django_assert_num_queries) -> None:
    a_node(cluster, port=2)
    found = Cluster.objects.select_related("status").prefetch_related("nodes").get()
    with django_assert_num_queries(0):
        assert both(found) == (OWN, [FIRST])


def test_an_ipv6_address_is_written_in_brackets() -> None:
    assert [topology.written(address) for address in (("::1", 5432), ("db", 5433))] == ["[::1]:5432", "db:5433"]


def test_the_identifier_is_the_own_addresss_else_a_nodes(cluster: Cluster) -> None:
    a_node(cluster, port=2, system_identifier="7")
    assert topology.identifier_of(cluster) == "7"
    assert topology.identifier_of(own(cluster, system_identifier="8")) == "8"
    ClusterNode.objects.all().delete()
    assert topology.identifier_of(own(cluster, system_identifier="")) == ""
