"""A CONNECTION LIMIT below what a pool opens is said before the pool is saved, whichever way it is asked for."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from pools.inventory import connection_limits, pools
from pools.inventory.pools import InvalidPool
from pools.models import Cluster, Pool, Pooler, PoolerKind
from tests import callers
from tests.pools.records import a_cluster, a_pool, a_pooler, checked, know_password

pytestmark = pytest.mark.django_db
Ask = Callable[[dict[str, Any]], str]
OF_ROLE = (
    "role app may have 4 connections at once and the pool opens up to 10: raise its CONNECTION LIMIT, or make the pool "
    "smaller"
)
OF_DATABASE = (
    "database shop takes 4 connections at once and the pool opens up to 10: raise its CONNECTION LIMIT, or make the "
    "pool smaller"
)


def limited(role: int = -1, database: int = -1) -> Cluster:
    """A cluster whose last check found these limits."""
    cluster = a_cluster(name="demo")
    names = [("app", False, role), ("postgres", True, 0)]
    checked(
        cluster,
        databases=[{"name": "shop", "owner": "postgres", "size_bytes": 1, "connection_limit": database}],
        roles=[
            {"name": name, "can_login": True, "superuser": is_superuser, "connection_limit": limit}
            for name, is_superuser, limit in names
        ],
    )
    know_password(cluster, "app", "app-secret")
    return cluster


@pytest.fixture
def pooler() -> Pooler:
    return a_pooler(name="edge")


def values(cluster: Cluster, pooler: Pooler, **fields: Any) -> dict[str, Any]:
    typed = {"name": "orders", "database": "shop", "user": "app", "mode": "transaction", "size": 10}
    return {"cluster": str(cluster.pk), "pooler": str(pooler.pk), **typed, **fields}


def refusals(cluster: Cluster, pooler: Pooler, **fields: Any) -> dict[str, list[str]]:
    with pytest.raises(InvalidPool) as refused:
        pools.create(values(cluster, pooler, **fields))
    return refused.value.errors


def by_api(typed: dict[str, Any]) -> str:
    answer = callers.bearer().post("/api/v1/pools/", typed, format="json")
    assert answer.status_code == 400
    return "; ".join(answer.json()["size"])


def by_form(typed: dict[str, Any]) -> str:
    client = Client()
    client.force_login(callers.person())
    return "; ".join(client.post("/pools/new/", typed).context["form"].errors["size"])


def by_managed_api(typed: dict[str, Any]) -> str:
    body = {"name": typed["name"], "db": typed["database"], "user": typed["user"], "mode": typed["mode"]}
    address = f"/v2/databases/{typed['cluster']}/pools"
    answer = callers.bearer().post(address, body | {"size": typed["size"]}, format="json")
    assert answer.status_code == 422
    return str(answer.json()["message"])


@pytest.mark.parametrize("ask", [by_api, by_form, by_managed_api])
@pytest.mark.parametrize(("limits", "reason"), [({"role": 4}, OF_ROLE), ({"database": 4}, OF_DATABASE)])
def test_each_way_names_both_figures_and_the_remedy(
    ask: Ask, limits: dict[str, int], reason: str, pooler: Pooler
) -> None:
    assert reason in ask(values(limited(**limits), pooler))
    assert not Pool.objects.exists()


def test_both_limits_are_told_at_once(pooler: Pooler) -> None:
    assert refusals(limited(4, 4), pooler) == {"size": [OF_ROLE, OF_DATABASE]}


@pytest.mark.parametrize("fields", [{"size": 4}, {"user": "postgres"}])
def test_what_the_server_would_carry_is_taken(fields: dict[str, Any], pooler: Pooler) -> None:
    pools.create(values(limited(4, 4), pooler, **fields))
    assert Pool.objects.count() == 1


def test_a_pool_of_inbound_users_needs_one_connection_of_the_role_that_looks_them_up(pooler: Pooler) -> None:
    cluster = limited(role=0)
    cluster.auth_role = "app"
    spec = Pool(pooler=pooler, cluster=cluster, database="shop", user="", size=10)
    [fault] = connection_limits.faults(spec, connection_limits.Limits(of_role=0))
    assert fault.startswith("role app may have 0 connections at once and the pool opens up to 1:")


def test_a_pool_that_shares_its_poolers_connections_is_not_judged_by_its_size() -> None:
    pgpool = a_pooler(kind=PoolerKind.PGPOOL, facts={"num_init_children": 32})
    spec = Pool(pooler=pgpool, cluster=a_cluster(), database="shop", user="app", size=32)
    assert list(connection_limits.faults(spec, connection_limits.Limits(1, 1))) == []


@pytest.mark.parametrize(
    ("change", "is_refused"),
    [({"mode": "session"}, False), ({"size": 9}, False), ({"size": 11}, True), ({"database": "shop2"}, True)],
)
def test_a_limit_that_a_pool_exceeds_already_forbids_no_other_change(
    change: dict[str, Any], is_refused: bool, pooler: Pooler
) -> None:
    pool = a_pool(name="orders", pooler=pooler, cluster=limited(4), size=10)
    pool.cluster.status.databases += [{"name": "shop2", "owner": "postgres", "connection_limit": 1}]
    pool.cluster.status.save()
    if not is_refused:
        pools.change(pool, change, None)
        return
    with pytest.raises(InvalidPool) as refused:
        pools.change(pool, change, None)
    assert list(refused.value.errors) == ["size"]


def test_a_limit_is_not_set_below_what_a_pool_opens(pooler: Pooler) -> None:
    held = [a_pool(name=name, pooler=pooler, size=size) for name, size in (("few", 2), ("many", 7))]
    assert list(connection_limits.pools_above(held, 6)) == [
        (
            "connection_limit",
            "pool many opens up to 7 connections at once, more than 6: set a higher limit, or make the pool smaller "
            "first",
        )
    ]
    assert [list(connection_limits.pools_above(held, limit)) for limit in (7, -1, None)] == [[], [], []]
