"""Settings that decide how many connections a pooler opens ask the budget, as its pools do."""

import pytest

from pools.inventory import pooler_settings, pools
from pools.inventory.pooler_settings import InvalidSettings
from pools.inventory.pools import InvalidPool
from pools.models import Pooler
from tests.pools.records import a_cluster, a_node, a_pool, a_pooler, checked

pytestmark = pytest.mark.django_db


def a_haproxy(maxconn: int, *, target: str = "standby", **pool: object) -> Pooler:
    """An HAProxy with a pool, before a cluster that has 94 connections for pools."""
    cluster = a_cluster()
    checked(cluster, max_connections=97)
    a_node(cluster)
    pooler = a_pooler(kind="haproxy", settings={"maxconn": maxconn})
    a_pool(name="shop", pooler=pooler, cluster=cluster, size=maxconn, target=target, mode="session", **pool)
    return pooler


@pytest.mark.parametrize("target", ["primary", "standby"])
def test_a_maxconn_above_what_the_servers_have_is_refused_with_both_figures(target: str) -> None:
    pooler = a_haproxy(50, target=target)
    for values in ({"maxconn": 100}, {"maxconn": None}):  # without one, HAProxy's pools get 100
        with pytest.raises(InvalidSettings) as refused:
            pooler_settings.change_settings(pooler, values)
        [[message]] = refused.value.errors.values()
        assert "could then open 100 connections, 50 more than now" in message
        assert "has 44 left for pools" in message
    pooler_settings.change_settings(pooler, {"maxconn": 94})


def test_what_was_allowed_before_may_grow_and_anything_may_shrink() -> None:
    pooler_settings.change_settings(a_haproxy(50, over_budget_by="ann"), {"maxconn": 100})
    pooler_settings.change_settings(a_haproxy(200), {"maxconn": 150})


@pytest.mark.parametrize("target", ["primary", "standby"])
def test_a_pool_of_an_haproxy_asks_the_budget_of_the_server_it_leads_to(target: str) -> None:
    cluster = a_cluster()
    checked(cluster, max_connections=97)
    a_node(cluster)
    wanted = {"name": "shop", "database": "shop", "user": "app", "mode": "session", "size": 100, "target": target}
    with pytest.raises(InvalidPool, match="size 100 is over the budget") as refused:
        pools.create(wanted | {"pooler": a_pooler(kind="haproxy"), "cluster": cluster, "user_password": "x"})
    assert "94 available" in str(refused.value)
