"""What a pool may be, told without a server."""

from typing import Any

import pytest

from pools.inventory import pool_validation
from pools.models import Cluster, Pool, Pooler, PoolerKind

CLUSTER = Cluster(name="demo", host="db", admin_user="postgres")
PGBOUNCER = Pooler(
    name="edge", kind=PoolerKind.PGBOUNCER, config_dir="/etc/pgbouncer", server_version="PgBouncer 1.18.0"
)
PGPOOL = Pooler(name="old", kind=PoolerKind.PGPOOL, config_dir="/etc/pgpool2", pcp_port=9898)


def problems(pooler: Pooler = PGBOUNCER, **values: Any) -> list[tuple[str, str]]:
    spec = {"name": "orders", "database": "shop", "user": "app", "mode": "transaction", "size": 5} | values
    return list(pool_validation.problems(Pool(pooler=pooler, cluster=CLUSTER, **spec)))


def test_an_ordinary_pool_is_fine() -> None:
    assert problems() == []
    assert problems(user="", mode="statement", settings={"min_pool_size": 1}) == []


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"name": "my db"},
            ("name", "'my db' can't name a pool: use 1 to 63 of the letters a-z A-Z, digits, and _ . -"),
        ),
        ({"name": "pgbouncer"}, ("name", "'pgbouncer' is the name of PgBouncer's own console: choose another")),
        ({"database": ""}, ("database", "a name is needed")),
        ({"database": "a\nb"}, ("database", "'a\\nb' contains a line break or a NUL: leave it out")),
        ({"user": "a\rb"}, ("user", "'a\\rb' contains a line break or a NUL: leave it out")),
        ({"size": 0}, ("size", "0 is not a pool size: enter 1 to 100000, within the cluster's budget")),
        ({"size": -1}, ("size", "-1 is not a pool size: enter 1 to 100000, within the cluster's budget")),
        ({"size": 10**9}, ("size", f"{10**9} is not a pool size: enter 1 to 100000, within the cluster's budget")),
        ({"size": "5"}, ("size", "a whole number of server connections is needed: at least 1")),
        ({"size": True}, ("size", "a whole number of server connections is needed: at least 1")),
        ({"mode": "magic"}, ("mode", "'magic' is not a pool mode: choose one of session, transaction, statement")),
        ({"settings": [1]}, ("settings", "[1] is not an object of settings: send names and values")),
        (
            {"settings": {"timezone": "a\n%include x"}},
            ("settings", "timezone: a line break or NUL can't be written into a configuration file: leave it out"),
        ),
    ],
)
def test_each_rule_names_the_value_and_the_remedy(values: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problems(**values) == [problem]


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert [field for field, _ in problems(name="", database="", size=0, mode="")] == [
        "name",
        "database",
        "size",
        "mode",
    ]


def test_a_setting_that_the_poolers_release_does_not_know_is_refused() -> None:
    ((field, message),) = problems(settings={"server_lifetime": 60})
    assert field == "settings"
    assert "came with 1.23, and this is 1.18" in message


@pytest.mark.parametrize("mode", ["transaction", "statement"])
def test_pgpool_has_session_mode_only(mode: str) -> None:
    assert problems(PGPOOL, mode=mode, name="shop") == [
        ("mode", f"Pgpool-II keeps a server connection for a whole session: {mode} mode needs a PgBouncer")
    ]


def test_pgpool_has_neither_names_nor_settings_of_its_own() -> None:
    assert problems(PGPOOL, mode="session", settings={"min_pool_size": 1}) == [
        ("name", "Pgpool-II has no names of its own for databases: name the pool 'shop'"),
        ("settings", "Pgpool-II has no settings per pool: leave them out"),
    ]


def test_a_pgpool_without_its_pcp_port_takes_no_pools() -> None:
    old = Pooler(name="old", kind=PoolerKind.PGPOOL, config_dir="/etc/pgpool2")
    assert problems(old, mode="session", name="shop") == [("pooler", "old can't be reloaded: give it its PCP port")]


@pytest.mark.parametrize("kind", PoolerKind.values)
def test_a_watched_pooler_takes_no_pools(kind: str) -> None:
    assert problems(Pooler(name="old", kind=kind)) == [
        ("pooler", "pooler old is only watched, so it takes no pool of the panel: take it over first")
    ]


def test_all_pools_of_a_pgpool_are_as_large_as_its_children_are_many() -> None:
    full = Pooler(name="old", kind=PoolerKind.PGPOOL, config_dir="/x", pcp_port=1, facts={"num_init_children": 32})
    assert problems(full, mode="session", name="shop", size=32) == []
    assert problems(full, mode="session", name="shop", size=5) == [
        (
            "size",
            "Pgpool-II can't set a pool's connections apart, all share its 32 children: use 32, "
            "or change num_init_children in the settings of pooler old",
        )
    ]


@pytest.mark.parametrize("name", ["it's", 'a"b', "a,b", "a#b", "all", "SameUser", "+group", "@file"])
def test_a_database_that_pool_hba_would_misread_is_refused(name: str) -> None:
    assert [field for field, _ in problems(PGPOOL, mode="session", name="shop", user=name)] == ["user"]


def test_a_chain_leads_through_a_pgpool_only() -> None:
    other = Pooler(name="edge-2", kind=PoolerKind.PGBOUNCER, config_dir="/etc/pgbouncer-2")
    assert problems(through=other) == [
        ("through", "pooler edge-2 is not a Pgpool-II: leave it empty, since a PgBouncer routes to its servers itself")
    ]
