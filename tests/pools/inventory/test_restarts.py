"""Restarts between two checks: another process has the place of the one before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from pools.inventory import poolers, restarts
from pools.models import Pooler, Restart
from pools.poolers import KINDS, local_process
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
LATER = timezone.now() + timedelta(hours=1)
Row = dict[str, Any]


def a_process(pid: int | None, name: str = "pgbouncer.ini") -> Row:
    usual = {"socket": "", "peer_id": None, "version": "1.24.1", "state": "online"}
    return {"name": name, "main_file": f"/etc/{name}", "pid": pid, **usual}


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process here started later than any edit."""
    monkeypatch.setattr(local_process, "started_at", lambda _pid, _name: LATER)


def between(before: list[Row], after: list[Row], **fields: Any) -> list[tuple[str, datetime]]:
    return [(one.process, one.at) for one in restarts.between(a_pooler(**fields), before, after)]


def test_another_process_in_its_place_is_a_restart_at_the_time_of_its_start() -> None:
    assert between([a_process(10)], [a_process(11)]) == [("", LATER)]


def test_the_same_process_is_none_nor_one_that_was_or_is_not_seen() -> None:
    assert between([a_process(10)], [a_process(10)]) == []
    assert between([a_process(None)], [a_process(11)]) == []
    assert between([a_process(10)], [a_process(None)]) == []
    assert between([], [a_process(11)]) == []


def test_of_several_processes_the_one_that_restarted_is_named_and_a_further_one_is_none() -> None:
    before = [a_process(10), a_process(20, "second.ini")]
    after = [a_process(10), a_process(21, "second.ini"), a_process(30, "third.ini")]
    assert between(before, after) == [("second.ini", LATER)]


def test_a_process_elsewhere_is_marked_when_it_is_noticed() -> None:
    before = timezone.now()
    ((_name, at),) = between([a_process(10)], [a_process(11)], delivery="ssh")
    assert before <= at <= timezone.now()


def test_a_process_that_is_older_than_the_last_edit_did_not_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_process, "started_at", lambda _pid, _name: datetime(2020, 1, 1, tzinfo=UTC))
    assert between([a_process(10)], [a_process(11)]) == []


def test_a_check_saves_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pooler, kind = a_pooler(processes=[a_process(10)]), type(KINDS["pgbouncer"])
    for name, answer in (("check", "PgBouncer 1.24.1"), ("facts", {}), ("entries", []), ("commands_refused", "")):
        monkeypatch.setattr(kind, name, lambda *_words, answer=answer: answer)
    monkeypatch.setattr(kind, "processes", lambda *_words: [a_process(11)])
    for _time in range(2):
        poolers.check(Pooler.objects.get(pk=pooler.pk))
    assert [(one.pooler, one.at) for one in Restart.objects.all()] == [(pooler, LATER)]
