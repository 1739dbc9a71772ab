"""Which limits of server connections are reached, by the rows of SHOW DATABASES and the connections at hand."""

import pytest

from pools.poolers.pgbouncer import queue_reading
from pools.poolers.pool_queue import Limit, ServerConnection


def connections(count: int) -> tuple[ServerConnection, ...]:
    return tuple(ServerConnection("orders", "app", "active", pid, 40000 + pid) for pid in range(1, count + 1))


@pytest.mark.parametrize("column", ["reserve_pool", "reserve_pool_size"])  # of 1.18, and of 1.24
@pytest.mark.parametrize(("used", "most", "is_reached"), [(3, 4, False), (4, 4, True), (5, 4, True), (6, 6, True)])
def test_a_pool_is_full_at_its_size_since_the_reserve_is_for_long_waits(
    column: str, used: int, most: int, is_reached: bool
) -> None:
    entry = {"name": "orders", "pool_size": 4, column: 2, "max_connections": 0, "current_connections": used}
    answers = queue_reading._Answers("orders", ({"databases": [entry], "config": []},))
    limit, *_others = queue_reading._server_limits(answers, answers.entries(), connections(used), ())
    assert (limit, limit.is_reached) == (Limit("pool_size", most, used), is_reached)
