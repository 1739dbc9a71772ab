"""Pools that may take more than their cluster has, because somebody typed its name."""

from typing import Any

import pytest
from django.utils import timezone

from pools.inventory import pools
from pools.inventory.pools import InvalidPool
from pools.models import Pool, PoolState
from tests.callers import person
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked, know_password

pytestmark = pytest.mark.django_db
FIGURES = "over the budget of cluster demo: 97 available, 40 allocated to pools, 57 free"


@pytest.fixture
def typed() -> dict[str, Any]:
    """A pool of 60 where 57 are free."""
    cluster = a_cluster(name="demo")
    checked(cluster)
    know_password(cluster, "app", "app-secret")
    a_pool(cluster=cluster, size=40)
    values = {"name": "orders", "pooler": a_pooler(), "cluster": cluster, "database": "shop", "user": "app"}
    return values | {"size": 60, "mode": "session"}


def refused(values: dict[str, Any]) -> dict[str, list[str]]:
    with pytest.raises(InvalidPool) as error:
        pools.create(values)
    return error.value.errors


def test_the_clusters_name_allows_it_and_who_typed_it_is_kept(typed: dict[str, Any]) -> None:
    pool = pools.create(typed | {"over_budget_confirm": "demo"}, person("alice"))
    assert Pool.objects.get(pk=pool.pk).over_budget_by == "alice"


def test_another_name_does_not(typed: dict[str, Any]) -> None:
    assert refused(typed | {"over_budget_confirm": "yes"}) == {
        "over_budget_confirm": ["'yes' is not the cluster's name: type 'demo' to allow it"],
        "size": [f"size 60 is {FIGURES}"],
    }


def test_a_reserve_counts(typed: dict[str, Any]) -> None:
    values = typed | {"size": 50, "settings": {"reserve_pool": 8}}
    assert refused(values) == {"size": [f"size 50 with a reserve of 8 is {FIGURES}"]}
    assert pools.create(values | {"settings": {"reserve_pool": 7}}).over_budget_by == ""


def test_the_mark_goes_when_it_fits_and_stays_when_it_only_shrinks(typed: dict[str, Any]) -> None:
    pool = pools.create(typed | {"over_budget_confirm": "demo"}, person("alice"))
    pools.change(pool, {"size": 58}, None, person("bob"))
    assert Pool.objects.get(pk=pool.pk).over_budget_by == "alice"
    with pytest.raises(InvalidPool):
        pools.change(pool, {"size": 59}, None)
    pools.change(pool, {"size": 57}, None)
    assert Pool.objects.get(pk=pool.pk).over_budget_by == ""


def test_the_budget_of_the_standbys_is_called_by_its_name(typed: dict[str, Any]) -> None:
    a_node(typed["cluster"])
    assert refused(typed | {"target": "standby", "size": 98}) == {
        "size": [
            "size 98 is over the budget of each standby of cluster demo: 97 available, 0 allocated to pools, 97 free"
        ]
    }


def test_a_pgpool_must_fit_on_the_standbys_too(typed: dict[str, Any]) -> None:
    cluster = typed["cluster"]
    a_node(cluster)
    a_pool(cluster=cluster, size=90, target="standby")
    pgpool = a_pooler(name="spread", kind="pgpool", pcp_port=1, facts={"num_init_children": 8, "max_pool": 1})
    assert refused(typed | {"name": "shop", "pooler": pgpool, "size": 8}) == {
        "size": [
            "size 8 is over the budget of each standby of cluster demo: 97 available, 90 allocated to pools, 7 free"
        ]
    }


def test_a_pool_refused_before_it_was_ever_live_takes_nothing(typed: dict[str, Any]) -> None:
    Pool.objects.update(state=PoolState.ROLLED_BACK)
    assert pools.create(typed | {"size": 97}).size == 97


def test_a_pool_whose_change_was_refused_keeps_what_it_has(typed: dict[str, Any]) -> None:
    Pool.objects.update(state=PoolState.ROLLED_BACK, applied_at=timezone.now())
    assert refused(typed) == {"size": [f"size 60 is {FIGURES}"]}
