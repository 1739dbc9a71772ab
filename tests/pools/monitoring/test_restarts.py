"""Restarts of poolers whose processes nobody sees, by counters that begin anew."""

from typing import Any

import pytest

from pools.models import Pooler, Restart
from pools.monitoring import redis_store, restarts
from pools.monitoring.rollup import Snapshot
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.console_sample import Counters
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
SEEN = [{"name": "pgbouncer.ini", "pid": 10, "main_file": "", "socket": "", "state": "online"}]
Counted = dict[str, int]


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What Redis would keep."""
    values: dict[str, Any] = {}
    monkeypatch.setattr(redis_store, "read", values.get)
    monkeypatch.setattr(redis_store, "keep", lambda key, value, _for_s: values.update({key: value}))
    return values


def counters(counted: Counted) -> dict[str, Counters]:
    return {name: Counters(count, count, 100 * count, 200 * count) for name, count in counted.items()}


def restarted(pooler: Pooler, *polls: Counted, paused: str = "", gone: str = "", error: str = "") -> int:
    """Return how many restarts these polls tell; `paused` and `gone` pools are so at the last one."""
    last: Snapshot | None = None
    for at, counted in enumerate(polls, start=1):
        is_last = at == len(polls)
        names = {name for poll in polls for name in poll} - ({gone} if is_last else set())
        rows: list[dict[str, object]] = [{"name": one, "paused": int(is_last and one == paused)} for one in names]
        now = ConsoleSnapshot(at, counters=counters(counted), rows={"databases": rows}, error=error * is_last)
        restarts.record([pooler], {pooler.pk: now}, lambda _pk, last=last: last)
        last = Snapshot(at, {}, now.counters)
    return Restart.objects.count()


def test_pools_that_all_count_less_tell_a_restart() -> None:
    pooler = a_pooler()
    assert restarted(pooler, {"a": 50, "b": 900}, {"a": 3}) == 1
    restart = Restart.objects.get()
    assert (restart.pooler, restart.at.timestamp(), restart.evidence) == (pooler, 2, "counters")


def test_each_restart_is_told_once() -> None:
    assert restarted(a_pooler(), {"a": 50}, {"a": 3}, {"a": 4}, {"a": 90}, {"a": 1}) == 2


@pytest.mark.parametrize("polls", [[{"a": 5}, {"a": 5}], [{"a": 5}, {"a": 6}], [{"a": 5}, {"a": 5, "b": 1}], [{}, {}]])
def test_counters_that_stay_or_grow_tell_none(polls: list[Counted]) -> None:
    assert restarted(a_pooler(), *polls) == 0


def test_a_pool_that_was_removed_tells_none() -> None:
    assert restarted(a_pooler(), {"a": 50, "b": 900}, {"a": 51}, gone="b") == 0


def test_a_pool_that_was_killed_tells_none_while_it_is_paused() -> None:
    assert restarted(a_pooler(), {"a": 50, "b": 900}, {"a": 50}, paused="b") == 0


def test_a_console_that_does_not_answer_tells_none() -> None:
    assert restarted(a_pooler(), {"a": 50}, {}, error="it does not answer") == 0


@pytest.mark.parametrize("fields", [{"processes": SEEN}, {"kind": "haproxy"}])
def test_a_pooler_whose_process_is_seen_or_that_counts_anew_at_a_reload_is_left_to_its_checks(
    fields: dict[str, Any],
) -> None:
    assert restarted(a_pooler(**fields), {"a": 50}, {"a": 3}) == 0
