"""One figure of the poolers of a cluster: sums over its pools and entries on each, without those of others."""

import time

import pytest

from pools.models import Cluster, Entry, EntryMinute, Pooler
from pools.monitoring import cluster_history
from pools.monitoring.rates import FIGURES
from pools.monitoring.windows import RANGES
from tests.callers import of_an_admin
from tests.pools.monitoring.records import a_minute
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry

pytestmark = pytest.mark.django_db
FIRST, SECOND = ("first", "second")


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster()


@pytest.fixture
def poolers(cluster: Cluster) -> list[Pooler]:
    """Two in front of the cluster; the first has two pools and an entry that lead there, and one that does not."""
    first, second = a_pooler(name="a"), a_pooler(name="b")
    for name in (FIRST, SECOND):
        a_pool(name=name, pooler=first, cluster=cluster)
    a_pool(name="elsewhere", pooler=first)
    a_pool(name="only", pooler=second, cluster=cluster)
    an_entry(name="read", pooler=first, cluster=cluster)
    return [first, second]


def values(cluster: Cluster, poolers: list[Pooler], figure: str, name: str = "hour") -> list[list[float]]:
    found = cluster_history.of_cluster(cluster, poolers, figure, RANGES[name].window())
    return [list(found[pooler.pk].values()) for pooler in poolers]


def an_entry_minute(entry: Entry, minute: int, **figures: float | None) -> None:
    columns = {f"{name}_{what}": figures.get(name, 0.0) for name in FIGURES for what in ("avg", "max")}
    EntryMinute.objects.create(entry=entry, minute=minute, snapshots=6, **columns)


def test_counts_of_pools_and_entries_add_up_on_each_pooler(cluster, poolers):
    first, second = poolers
    figures = {"first": 3, "second": 4, "elsewhere": 100}
    minutes = [a_minute(pool, 5, sv_active=figures[pool.name]).minute for pool in first.pools.all()]
    an_entry_minute(first.entries.get(), minutes[0], sv_active=2)
    a_minute(second.pools.get(), 5, sv_active=8)
    assert values(cluster, poolers, "sv_active") == [[9], [8]]


def test_a_step_is_the_mean_of_its_minutes_and_the_longest_wait_its_maximum(cluster, poolers):
    pool = poolers[1].pools.get()
    now = int(time.time() // 60)
    begin = next(ago for ago in range(11, 16) if (now - ago) % 5 == 0)
    for ago, value in ((begin, 4), (begin - 1, 8)):
        a_minute(pool, ago, sv_active=value, maxwait_ms=value * 100)
    assert values(cluster, poolers, "sv_active", "day")[1] == [6]
    assert values(cluster, poolers, "maxwait_ms", "day")[1] == [800]


def test_times_are_weighted_by_what_ended(cluster, poolers):
    for pool in poolers[0].pools.filter(cluster=cluster):
        is_first = pool.name == FIRST
        a_minute(pool, 5, query_ms=10 if is_first else 2, queries_per_s=30 if is_first else 10)
    assert values(cluster, poolers, "query_ms") == [[8], []]
    assert values(cluster, poolers, "queries_per_s") == [[40], []]


def test_a_pgpool_has_no_points_of_what_it_does_not_count(cluster):
    pool = a_pool(pooler=a_pooler(kind="pgpool"), cluster=cluster)
    a_minute(pool, 5, cl_waiting=0, cl_active=3)
    assert values(cluster, [pool.pooler], "cl_waiting") == [[]]
    assert values(cluster, [pool.pooler], "cl_active") == [[3]]


def test_all_poolers_in_front_of_a_cluster_are_found_once(cluster, poolers):
    a_pooler(name="c")
    assert list(cluster_history.poolers_of(cluster, of_an_admin())) == poolers


def test_however_many_poolers_there_are_it_takes_two_queries(cluster, poolers, django_assert_num_queries):
    for pooler in poolers:
        for pool in pooler.pools.all():
            a_minute(pool, 5)
    with django_assert_num_queries(2):
        cluster_history.of_cluster(cluster, poolers, "sv_active", RANGES["hour"].window())
