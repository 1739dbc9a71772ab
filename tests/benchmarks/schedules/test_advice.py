"""Schedules of an advice: the same sweep each time, without what an earlier one found."""

from typing import Any

import pytest

from benchmarks.models import Experiment, StartState
from benchmarks.schedules import due
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.benchmarks.views.advice_records import a_pool, an_advice
from tests.pages import page_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def queued(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that takes everything."""
    monkeypatch.setattr("benchmarks.experiments.advice.sweep.require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.advice.again.require_queue", lambda: None)
    monkeypatch.setattr("benchmarks.experiments.dispatch.request_advance", lambda: None)


def test_the_same_sweep_starts_anew() -> None:
    first = an_advice(a_pool(size=4))
    schedule = a_schedule(experiment=first)
    due.start_due(DUE)
    start = schedule.starts.get()
    again = start.experiment
    assert (start.state, start.reason) == (StartState.STARTED, "")
    assert again is not None
    assert again.pk == start.pk
    same = ("playbook", "definition", "dataset", "cluster", "pooler")
    assert [getattr(again, name) for name in same] == [getattr(first, name) for name in same]
    assert {key for block in again.plan for key in block} == {key for block in first.plan for key in block}
    kept = {name: value for name, value in first.advice.items() if name not in ("cells", "recommendation")}
    assert again.advice == kept | {"round": 1}
    assert again.author == schedule.author


def test_of_a_removed_pool_nothing_starts() -> None:
    pool = a_pool(size=4)
    schedule = a_schedule(experiment=an_advice(pool))
    pool.delete()
    due.start_due(DUE)
    assert [(one.state, one.reason) for one in schedule.starts.all()] == [
        (StartState.MISSED, "the pool that the advice is for was removed")
    ]
    assert Experiment.objects.count() == 1


def test_the_pages_lead_to_the_schedule_and_its_answers(client: Any, admin_user: Any) -> None:
    client.force_login(admin_user)
    advice = an_advice(a_pool(size=4))
    assert f"/schedules/new/?experiment={advice.pk}" in page_of(client.get(f"/experiments/{advice.pk}/"))
    schedule = a_schedule(experiment=advice)
    schedule.starts.create(due_at=DUE, claimed_at=DUE, state="started", experiment=advice)
    size = advice.advice["recommendation"]["size"]
    assert f"recommended size {size} (" in page_of(client.get(f"/schedules/{schedule.pk}/"))
    assert "has the answer of each night" in page_of(client.get(f"/schedules/{schedule.pk}/trend/"))
