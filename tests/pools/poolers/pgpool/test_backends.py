"""Which server is which backend: a number once given stays."""

import pytest

from pools.models import ClusterNode
from pools.poolers.faults import Rejected
from pools.poolers.pgpool import backends
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


def numbers(found: list[backends.Backend]) -> dict[str, int]:
    return {one.host: one.number for one in found}


def test_backends_keep_their_numbers_as_nodes_come_and_go() -> None:
    cluster = a_cluster(host="db1")
    second, _ = (ClusterNode.objects.create(cluster=cluster, host=host) for host in ("db2", "db3"))
    first = backends.of_cluster(cluster, [])
    assert numbers(first) == {"db1": 0, "db2": 1, "db3": 2}
    second.delete()
    ClusterNode.objects.create(cluster=cluster, host="db4")
    assert numbers(backends.of_cluster(cluster, first)) == {"db1": 0, "db3": 2, "db4": 1}


def test_backends_are_read_back() -> None:
    found = backends.of_cluster(a_cluster(host="db1", port=5433), [])
    text = "".join(one.lines({"backend_weight0": "3", "backend_flag0": "ALLOW_TO_FAILOVER"}) for one in found)
    assert backends.read(text) == found
    assert "backend_weight0 = 3\nbackend_flag0 = 'ALLOW_TO_FAILOVER'\n" in text


def test_a_node_at_the_clusters_own_address_is_no_second_backend() -> None:
    cluster = a_cluster(host="db1", port=5432)
    ClusterNode.objects.create(cluster=cluster, host="db1", port=5432)
    assert len(backends.of_cluster(cluster, [])) == 1


def test_a_host_that_the_file_can_not_carry_is_refused() -> None:
    with pytest.raises(Rejected, match="Pgpool-II's files can't carry"):
        backends.of_cluster(a_cluster(host="/it's"), [])
