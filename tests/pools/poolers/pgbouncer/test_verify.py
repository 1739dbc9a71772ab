"""SHOW DATABASES held against the entries."""

from collections.abc import Mapping

import pytest

from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import verify
from pools.poolers.pgbouncer.console import Table
from tests.pools.poolers.pgbouncer.test_database_entries import POOL, entry

ROW_OF_1_18 = {
    "name": "orders",
    "host": "db1.example.com",
    "port": 5432,
    "database": "shop",
    "force_user": "app",
    "pool_size": 20,
    "min_pool_size": 0,
    "reserve_pool": 0,
    "pool_mode": "transaction",
    "max_connections": 20,
}
INBOUND = entry(user="", password="", auth_user="postgres")


def shown(row: Mapping[str, object]) -> Table:
    return Table(tuple(row), [tuple(row.values())])


def test_rows_that_say_what_the_entries_say_pass() -> None:
    assert verify.faults(shown(ROW_OF_1_18), [entry()]) == {}
    assert verify.faults(shown(ROW_OF_1_18 | {"force_user": None}), [INBOUND]) == {}
    verify.read_back(shown(ROW_OF_1_18), [entry()], ["gone"])


@pytest.mark.parametrize(
    ("column", "live", "difference"),
    [
        ("host", "db2", "host db2, not db1.example.com"),
        ("port", 5433, "port 5433, not 5432"),
        ("database", "other", "database other, not shop"),
        ("force_user", None, "force_user None, not app"),
        ("pool_size", 19, "pool_size 19, not 20"),
        ("pool_mode", "session", "pool_mode session, not transaction"),
        ("max_connections", 0, "max_connections 0, not 20"),
    ],
)
def test_each_column_that_differs_is_a_fault(column: str, live: object, difference: str) -> None:
    found = verify.faults(shown(ROW_OF_1_18 | {column: live}), [entry()])
    assert found == {POOL: f"the pooler has pool orders with {difference}"}


def test_a_forced_user_that_reload_could_not_take_away_is_a_fault() -> None:
    assert verify.faults(shown(ROW_OF_1_18), [INBOUND]) == {
        POOL: "the pooler has pool orders with force_user app, not None"
    }


@pytest.mark.parametrize("column", ["reserve_pool", "reserve_pool_size"])
@pytest.mark.parametrize("key", ["reserve_pool", "reserve_pool_size"])
def test_a_setting_is_found_under_either_releases_name(column: str, key: str) -> None:
    row = {name: value for name, value in ROW_OF_1_18.items() if name != "reserve_pool"}
    row |= {column: 2, "max_connections": entry().size + 2}
    assert verify.faults(shown(row), [entry(settings={key: "2"})]) == {}
    assert verify.faults(shown(row | {column: 3}), [entry(settings={key: "2"})]) == {
        POOL: f"the pooler has pool orders with {column} 3, not 2"
    }


def test_an_absent_pool_and_one_that_should_be_gone_are_refused() -> None:
    with pytest.raises(Rejected, match="after RELOAD: the pooler has no pool orders") as refused:
        verify.read_back(Table(tuple(ROW_OF_1_18), []), [entry()], [])
    assert refused.value.pools == {POOL}
    with pytest.raises(Rejected, match="after RELOAD the pooler still has pool orders") as refused:
        verify.read_back(shown(ROW_OF_1_18), [], ["orders"])
    assert refused.value.pools == set()
