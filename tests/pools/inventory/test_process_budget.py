"""Each process that shares a pooler's port opens the connections of its pools: the budget counts them all."""

from typing import Any

import pytest
from django.test import Client

from pools.inventory import budget, pools
from pools.inventory.pools import InvalidPool
from pools.inventory.unmanaged_connections import UnmanagedConnections
from pools.models import Cluster, Pool, Pooler
from tests.callers import bearer, person
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry, checked, know_password, three_processes

pytestmark = pytest.mark.django_db
IN_EACH = "in each of 3 processes of pooler edge"
LEFT = "97 available, 0 allocated to pools, 97 free"


@pytest.fixture
def cluster() -> Cluster:
    """A cluster that has 97 connections for pools."""
    made = a_cluster(name="demo")
    checked(made)
    know_password(made, "app", "app-secret")
    return made


@pytest.fixture
def edge() -> Pooler:
    """A PgBouncer of three processes; a fourth was never started and takes no client."""
    return a_pooler(name="edge", processes=three_processes())


@pytest.fixture
def wanted(cluster: Cluster, edge: Pooler) -> dict[str, Any]:
    """A pool of 33, 99 connections in all in three processes."""
    values = {"name": "orders", "pooler": edge, "cluster": cluster, "database": "shop", "user": "app"}
    return values | {"size": 33, "mode": "session"}


def test_size_and_reserve_count_in_each_process(cluster: Cluster, edge: Pooler) -> None:
    pool = a_pool(cluster=cluster, pooler=edge, size=20, settings={"reserve_pool": 5}, made_for="experiment 1")
    a_pool(cluster=cluster, size=10)
    assert (budget.needed_by(pool), budget.most_connections(pool)) == (75, 75)
    found = budget.of_cluster(cluster)
    assert (found.allocated, found.for_experiments, found.free) == (85, 75, 12)
    assert budget.of_clusters([cluster])[cluster.pk] == found


def test_a_pool_that_fits_once_but_not_in_each_process_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(InvalidPool) as refused:
        pools.create(wanted)
    assert refused.value.errors == {
        "size": [f"size 33 {IN_EACH}, 99 connections in all, is over the budget of cluster demo: {LEFT}"]
    }
    with pytest.raises(InvalidPool, match=f"size 32 with a reserve of 1 {IN_EACH}, 99 connections in all"):
        pools.create(wanted | {"size": 32, "settings": {"reserve_pool": 1}})
    pool = pools.create(wanted | {"size": 32})
    with pytest.raises(InvalidPool, match=f"size 33 {IN_EACH}"):
        pools.change(pool, {"size": 33}, None)


def test_the_api_refuses_it_and_tells_what_a_pool_takes_in_all(wanted: dict[str, Any]) -> None:
    values = wanted | {"pooler": str(wanted["pooler"].pk), "cluster": str(wanted["cluster"].pk)}
    admin = bearer("admin")
    answer = admin.post("/api/v1/pools/", values)
    assert answer.status_code == 400
    assert answer.json()["size"][0].startswith(f"size 33 {IN_EACH}, 99 connections in all")
    made = admin.post("/api/v1/pools/", values | {"size": 20}).json()
    assert (made["size"], made["process_count"], made["most_connections"]) == (20, 3, 60)


def test_the_form_counts_each_process(wanted: dict[str, Any], client: Client) -> None:
    client.force_login(person("alice"))
    typed = wanted | {"pooler": str(wanted["pooler"].pk), "cluster": str(wanted["cluster"].pk), "target": "primary"}
    answer = client.post("/pools/new/", typed)
    assert answer.context["over_budget"]
    page = answer.content.decode()
    assert f"size 33 {IN_EACH}, 99 connections in all" in page
    assert 'data-processes="3"' in page
    assert "3 processes share the port of this pooler" in page
    made = client.post("/pools/new/", typed | {"size": 20})
    assert made.status_code == 302
    shown = " ".join(client.get(f"/pools/{Pool.objects.get().pk}/").content.decode().split())
    assert "in each of 3 processes that share its port: 60 in all" in shown


def test_entries_that_no_pool_stands_for_count_in_each_process(cluster: Cluster) -> None:
    watched = a_pooler(config_dir="", processes=three_processes())
    limited = an_entry(cluster=cluster, pooler=watched, user="app", size=5, reserve=1)
    an_entry(cluster=cluster, pooler=watched, name="open", connections=4)  # summed over them by the check
    an_entry(cluster=cluster, user="app", size=7)
    assert limited.most_connections == 18
    assert budget.of_cluster(cluster).unmanaged == UnmanagedConnections(18 + 4 + 7, 1)
