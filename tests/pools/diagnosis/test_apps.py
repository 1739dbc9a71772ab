"""How clients of a pooler become rows of applications, and rows become bars."""

from datetime import UTC, datetime

from pools.diagnosis import apps
from pools.diagnosis.apps import App, Apps, Part
from pools.poolers.pool_queue import PoolClient


def client(application: str, user: str = "app", pool: str = "orders", **values: object) -> PoolClient:
    return PoolClient(pool, user, application, "10.0.0.7:50001", **{"state": "active", "waited_s": 0.0} | values)  # type: ignore[arg-type]


def test_a_row_stands_for_an_application_and_user() -> None:
    clients = [
        client("shop", server_pid=1),
        client("shop", server_pid=2),
        client("shop", state="waiting", waited_s=3.0),
        client("shop", user="report"),
        client("shop", pool="stock"),
    ]
    found = apps._rows(clients, {("orders", 1): 12.0, ("orders", 2): None})
    assert found == (
        App("shop", "app", 4, 1, 1, 3.0, 12.0, ("orders", "stock")),
        App("shop", "report", 1, 0, 0, 0.0, None, ("orders",)),
    )


def test_a_client_of_a_server_that_was_not_asked_counts_as_in_a_transaction() -> None:
    (row,) = apps._rows([client("shop", server_pid=1)], {})
    assert (row.in_transaction, row.oldest_transaction_s) == (1, None)


def test_those_that_wait_longest_come_first_then_the_oldest_transaction() -> None:
    rows = (
        App("a", "app", 90, 0, 0, 0.0, None),
        App("b", "app", 1, 1, 0, 0.0, 5.0),
        App("c", "app", 1, 0, 1, 2.0, None),
        App("d", "app", 1, 0, 1, 9.0, None),
    )
    assert [row.application for row in apps._in_order(rows)] == ["d", "c", "b", "a"]


def test_bars_are_scaled_by_the_largest_row() -> None:
    row = App("shop", "app", 4, 1, 1, 3.0, 12.0)
    found = Apps(datetime.now(UTC), (row, App("other", "app", 8, 0, 0, 0.0, None)), True)
    assert found.parts_of(row) == (
        Part("transaction", "in transactions", 1, 0.0, 12.5),
        Part("waiting", "waiting", 1, 12.5, 12.5),
        Part("other", "neither", 2, 25.0, 25.0),
    )


def test_rows_of_several_databases_are_summed_up() -> None:
    rows = [App("shop", "app", 2, 1, 0, 0.0, 4.0), App("shop", "app", 3, 2, 1, 2.0, 9.0)]
    assert list(apps._merged(rows)) == [App("shop", "app", 5, 3, 1, 2.0, 9.0)]
