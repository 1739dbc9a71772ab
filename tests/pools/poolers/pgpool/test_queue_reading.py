"""Who has the children of a Pgpool-II, by what its control port answers (captured of 4.3.5 and 4.6.1)."""

import pytest

from pools.errors import PoolerUnreachable
from pools.poolers.pgpool import pcp, queue_reading, sql
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
WAITS = "24806|2026-11-29|2|0|0|||||2026-11-29 02:37:58|0|0|0|0|0|0|Wait for connection|"
IDLE = "24817|2026-11-29|1|0|0|app|app|2026-11-29|2026-11-29||0|3|0|1|25005|1|Idle|"
KEPT = "24809|2026-11-29|3|0|0|app|app|2026-11-29|2026-11-29||0|3|0|1|25003|0|Wait for connection|0|"
OTHER = "25047|2026-11-29 02:38:03|2|0|0|sales|app|2026-11-29|2026-11-29||0|3|0|1|25092|1|Execute command|1|"
ON_A_STANDBY = OTHER.replace("|2|0|0|sales", "|2|0|1|sales").replace("25092", "999")


def rows(*messages: str) -> list[dict[str, object]]:
    return [dict(zip(pcp.COLUMNS, one.split("|"), strict=False)) for one in messages]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcp, "pools", lambda _pooler: rows(WAITS, IDLE, KEPT, OTHER, ON_A_STANDBY))


def test_a_child_is_counted_once_and_its_connections_are_those_of_their_database(answers: None) -> None:
    found = queue_reading.read(a_pooler(kind="pgpool"), "app")
    (limit,) = found.client_limits
    assert (limit.setting, limit.most, limit.used, limit.further_wait) == ("num_init_children", 4, 2, True)
    assert [(one.pid, one.is_busy) for one in found.servers] == [(25005, True), (25003, False)]
    assert [one.pid for one in found.elsewhere] == [25092, 999]
    assert (found.is_held_up, found.counts_waiting) == (False, False)


def test_all_its_children_taken_is_a_queue_of_its_kernel(answers: None) -> None:
    pooler = a_pooler(kind="pgpool", facts={"num_init_children": 2})
    assert queue_reading.read(pooler, "app").is_held_up


def test_without_a_login_to_its_control_port_sql_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pooler: object) -> None:
        raise PoolerUnreachable("it has no PCP port")

    monkeypatch.setattr(pcp, "pools", refuse)
    monkeypatch.setattr(sql, "show", lambda _pooler, _word: rows(WAITS, IDLE))
    assert [one.pid for one in queue_reading.read(a_pooler(kind="pgpool"), "app").servers] == [25005]
