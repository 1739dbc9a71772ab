"""A smallest size that a pool can't keep is refused at whichever field it is given, with both figures."""

import pytest

from pools.inventory import pool_validation, pooler_settings
from pools.inventory.pooler_settings import InvalidSettings
from pools.models import Pool
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db


def problems(**fields: object) -> list[str]:
    pooler = a_pooler(server_version="PgBouncer 1.24.1", user_settings={"app": {"max_user_connections": 2}})
    values = {"name": "orders", "database": "shop", "user": "app", "size": 10} | fields
    spec = Pool(pooler=pooler, cluster=a_cluster(), **values)
    return [message for _field, message in pool_validation.problems(spec)]


@pytest.mark.parametrize(
    ("fields", "described"),
    [
        ({"settings": {"min_pool_size": 11}, "user": "web"}, "min_pool_size 11 is above the pool's size 10"),
        ({"settings": {"min_pool_size": 3}}, "min_pool_size 3 is above max_user_connections 2 of app"),
    ],
)
def test_a_pools_smallest_size_is_within_its_limits(fields: dict[str, object], described: str) -> None:
    [message] = problems(**fields)
    assert message.startswith(described)


@pytest.mark.parametrize(
    "fields",
    [
        {"settings": {"min_pool_size": 2}},
        {"settings": {"min_pool_size": 10}, "user": "web"},
        {"settings": {"min_pool_size": 0}, "size": 1},
        {"settings": {"min_pool_size": 3}, "user": ""},
    ],
)
def test_one_within_them_is_taken(fields: dict[str, object]) -> None:
    assert problems(**fields) == []


def test_a_users_limit_is_not_set_below_the_smallest_size_of_its_pools() -> None:
    pooler = a_pooler(server_version="PgBouncer 1.24.1")
    a_pool(name="orders", pooler=pooler, user="app", settings={"min_pool_size": 5})
    with pytest.raises(InvalidSettings) as refused:
        pooler_settings.change_user_settings(pooler, "app", {"max_user_connections": 2})
    assert refused.value.errors == {
        "max_user_connections": [
            "max_user_connections 2 is below min_pool_size 5 of pool orders: raise it, or lower the pool's"
        ]
    }
    pooler_settings.change_user_settings(pooler, "app", {"max_user_connections": 5})
