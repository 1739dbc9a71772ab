"""The connections that clusters can give to pools."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from pools.inventory import budget
from pools.inventory.budget import Budget
from pools.inventory.unmanaged_connections import UnmanagedConnections
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, an_entry, checked

pytestmark = pytest.mark.django_db


def test_it_comes_from_the_last_check() -> None:
    cluster = a_cluster(set_aside_connections=7)
    checked(cluster, max_connections=200, superuser_reserved_connections=3, reserved_connections=10)
    a_pool(cluster=cluster, size=40)
    sources = [
        ("max_connections", 200),
        ("superuser_reserved_connections", -3),
        ("reserved_connections", -10),
        ("set aside for direct logins", -7),
    ]
    assert budget.of_cluster(cluster) == Budget(available=180, allocated=40, free=140, sources=sources)


@pytest.mark.parametrize(("memory_mb", "available"), [(1024, 22), (2048, 47), (4096, 97), (512, 9), (64, 0)])
def test_a_cluster_never_reached_is_judged_by_its_memory(memory_mb: int, available: int) -> None:
    found = budget.of_cluster(a_cluster(memory_mb=memory_mb))
    assert (found.available, found.free) == (available, available)
    assert found.sources == [
        (f"25 per GB of {memory_mb} MB memory", 25 * memory_mb // 1024),
        ("kept for maintenance", -3),
        ("set aside for direct logins", 0),
    ]


def test_what_a_check_said_counts_while_the_cluster_is_down() -> None:
    cluster = a_cluster(memory_mb=65536)
    checked(cluster, state="unreachable")
    assert budget.of_cluster(cluster).available == 97


def test_without_check_and_memory_it_is_unknown() -> None:
    cluster = a_cluster()
    a_pool(cluster=cluster, size=40)
    assert budget.of_cluster(cluster) == Budget(available=None, allocated=40, free=None, sources=[])


def test_pools_of_all_poolers_count_but_those_being_removed() -> None:
    cluster = a_cluster(memory_mb=4096)
    a_pool(cluster=cluster, size=10)
    own = a_pool(cluster=cluster, size=20)
    a_pool(cluster=cluster, size=40, removal_requested_at=timezone.now())
    a_pool(size=99)
    assert budget.of_cluster(cluster).allocated == 30
    assert budget.of_cluster(cluster, without=own).allocated == 10


def test_more_given_than_there_is_shows_as_less_than_nothing_free() -> None:
    cluster = a_cluster(memory_mb=1024)
    a_pool(cluster=cluster, size=30)
    assert budget.of_cluster(cluster).free == -8


def test_many_clusters_take_six_queries_and_say_the_same() -> None:
    clusters = [a_cluster(memory_mb=4096), a_cluster(), a_cluster(memory_mb=1024)]
    checked(clusters[2])
    for number, cluster in enumerate(clusters):
        a_pool(cluster=cluster, size=10 + number)
        a_pool(cluster=cluster, size=1)
    a_pool(cluster=clusters[0], pooler=a_pooler(kind="pgpool", facts={"num_init_children": 8, "max_pool": 4}), size=8)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = budget.of_clusters(clusters)
    assert len(queries) == 6
    assert found == {cluster.pk: budget.of_cluster(cluster) for cluster in clusters}
    assert [found[cluster.pk].allocated for cluster in clusters] == [11 + 32, 12, 13]


def test_a_reserve_counts_with_the_size() -> None:
    cluster = a_cluster(memory_mb=4096)
    a_pool(cluster=cluster, size=10, settings={"reserve_pool": 5})
    pool = a_pool(cluster=cluster, size=10, settings={"reserve_pool": "3"})
    assert budget.of_cluster(cluster).allocated == 28
    assert budget.needed_by(pool) == 13


def test_a_pgpool_counts_once_with_all_that_it_may_open() -> None:
    cluster = a_cluster(memory_mb=4096)
    pgpool = a_pooler(kind="pgpool", facts={"num_init_children": 8, "max_pool": 4})
    first = a_pool(cluster=cluster, pooler=pgpool, size=8)
    assert budget.needed_by(first) == 32
    second = a_pool(cluster=cluster, pooler=pgpool, size=8)
    assert budget.needed_by(second) == 0
    a_pool(cluster=cluster, size=10)
    assert budget.of_cluster(cluster).allocated == 42
    assert budget.of_clusters([cluster])[cluster.pk].allocated == 42
    assert budget.of_cluster(cluster, without=first).allocated == 42


def test_a_pgpool_counts_on_every_server_of_its_cluster() -> None:
    cluster = a_cluster(memory_mb=4096)
    pgpool = a_pooler(kind="pgpool", facts={"num_init_children": 8, "max_pool": 4})
    a_pool(cluster=cluster, pooler=pgpool, size=8)
    a_pool(cluster=cluster, size=10, target="standby")
    assert budget.of_cluster(cluster, target="standby").allocated == 42
    assert budget.of_cluster(cluster).allocated == 32


def test_a_pool_through_a_pgpool_opens_none_itself() -> None:
    cluster = a_cluster(memory_mb=4096)
    pool = a_pool(cluster=cluster, through=a_pooler(kind="pgpool"), size=10)
    assert budget.needed_by(pool) == 0
    assert budget.of_cluster(cluster).allocated == 0


def test_standbys_are_counted_apart() -> None:
    cluster = a_cluster(memory_mb=4096)
    a_pool(cluster=cluster, size=10, target="standby")
    a_pool(cluster=cluster, size=20)
    assert budget.of_cluster(cluster).allocated == 20
    assert budget.of_cluster(cluster, target="standby").allocated == 10


def test_what_is_over_is_told() -> None:
    cluster = a_cluster(memory_mb=1024)
    a_pool(cluster=cluster, size=30)
    assert (budget.of_cluster(cluster).free, budget.of_cluster(cluster).over) == (-8, 8)


@pytest.mark.parametrize(
    ("fields", "most", "unlimited"),
    [
        ({"user": "app", "size": 7, "reserve": 2}, 9, 0),
        ({"user": "app", "size": 7, "max_connections": 4}, 4, 0),
        ({"size": 7, "max_connections": 30}, 30, 0),
        ({"size": 7, "connections": 3}, 3, 1),  # a pool for each role, and nothing limits their sum
    ],
)
def test_entries_that_no_pool_stands_for_take_connections_too(
    fields: dict[str, object], most: int, unlimited: int
) -> None:
    cluster = a_cluster(memory_mb=4096)
    entry = an_entry(cluster=cluster, **fields)
    found = budget.of_cluster(cluster)
    assert (found.allocated, found.unmanaged) == (0, UnmanagedConnections(most, unlimited))
    assert found.free == 97 - most
    assert (entry.most_connections is None) is bool(unlimited)


def test_an_entry_of_a_pool_is_counted_once() -> None:
    cluster = a_cluster(memory_mb=4096)
    pool = a_pool(cluster=cluster, size=10)
    an_entry(cluster=cluster, pool=pool, pooler=pool.pooler, user="app", size=10)
    assert budget.of_cluster(cluster).taken == 10


def test_an_entry_to_a_standby_takes_its_connections() -> None:
    cluster = a_cluster(memory_mb=4096)
    a_node(cluster, host="db2", port=5432)
    an_entry(cluster=cluster, host="db2", port=5432, user="app", size=5)
    assert budget.of_cluster(cluster).taken == 0
    assert budget.of_cluster(cluster, target="standby").taken == 5


def test_entries_that_share_the_children_of_a_pgpool_count_once() -> None:
    cluster, edge = a_cluster(memory_mb=4096), a_pooler(kind="pgpool", config_dir="")
    for pooler, name in ((edge, "shop"), (edge, "web"), (a_pooler(kind="pgpool", config_dir="", port=2), "shop")):
        an_entry(cluster=cluster, pooler=pooler, name=name, size=5, max_connections=20)
    an_entry(cluster=cluster, user="app", size=7)
    assert budget.of_cluster(cluster).unmanaged == UnmanagedConnections(20 + 20 + 7, 0)
