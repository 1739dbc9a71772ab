"""What the files of a PgBouncer have of pools that are alike."""

import pytest

from pools.models import Cluster, Pooler, PoolSet
from pools.poolers.pgbouncer import render
from pools.poolers.pgbouncer.config_builder import ConfigBuilder
from tests.pools import records


def a_builder(pooler: Pooler) -> ConfigBuilder:
    return ConfigBuilder(pooler, (1, 25), PoolSet.whole(pooler), {}, {}, "/etc/pgbouncer", [])


def a_cluster(name: str, of_guest: str) -> Cluster:
    cluster = records.a_cluster(name=name)
    cluster.keep_password("app", "of app")
    cluster.keep_password("guest", of_guest)
    return cluster


@pytest.mark.django_db
@pytest.mark.parametrize("homes", [(0, 1, 0), (1, 0, 0, 1), (1, 1, 0)])
def test_of_two_passwords_of_a_role_that_pools_admit_the_last_pools_counts(homes: tuple[int, ...]) -> None:
    pooler, clusters = records.a_pooler(), (a_cluster("one", "first"), a_cluster("two", "second"))
    for at, home in enumerate(homes):
        values = {"cluster": clusters[home], "user": "app", "allowed_users": "guest"}
        records.a_pool(pooler=pooler, name=f"p{at}", **values)
    builder = a_builder(pooler)
    assert render.users(builder.texts[render.USERLIST])["guest"] == ("first", "second")[homes[-1]]


@pytest.mark.django_db
def test_pools_that_are_alike_admit_their_own_roles() -> None:
    pooler, cluster = records.a_pooler(), a_cluster("one", "first")
    for name, allowed in (("open", "*"), ("own", ""), ("shared", "guest"), ("too", "guest")):
        records.a_pool(pooler=pooler, cluster=cluster, name=name, user="app", allowed_users=allowed)
    found = {one.name: one.users for one in a_builder(pooler).admissions.values()}
    assert found == {"own": ("app",), "shared": ("app", "guest"), "too": ("app", "guest")}
