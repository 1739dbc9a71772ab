"""What needs a pooler's folder goes to the worker that has it."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.lib import queues
from core.lib.queues import WorkerKind
from panel.celery import app
from pools import tasks
from pools.deployment import drift
from pools.models import Pool, Pooler, PoolerState, PoolState, RevisionState
from pools.task_queue import route
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("task", [tasks.apply_pooler, tasks.overwrite_drift, tasks.check_pooler, tasks.count_logins_of])
def test_what_needs_the_folder_goes_to_the_poolers_generator(task: Any) -> None:
    pooler = a_pooler(generator="rack-2")
    assert route(task.name, [str(pooler.pk)]) == {"queue": "poolers.rack-2"}


def test_any_worker_may_apply_a_pooler_without_a_generator() -> None:
    assert route(tasks.apply_pooler.name, [str(a_pooler().pk)]) is None
    assert route(tasks.apply_pooler.name, [str(uuid.uuid4())]) is None


def test_without_a_named_generator_they_go_to_the_one_that_applied_last_while_it_lives() -> None:
    pooler = a_pooler()
    pooler.revisions.create(number=1, state=RevisionState.APPLIED, generator="rack-2", finished_at=timezone.now())
    assert route(tasks.apply_pooler.name, [str(pooler.pk)]) == {"queue": "poolers.rack-2"}
    pooler.revisions.update(finished_at=timezone.now() - timedelta(hours=1))
    assert route(tasks.apply_pooler.name, [str(pooler.pk)]) is None


def test_the_console_of_a_pooler_whose_generator_is_silent_is_compared_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pooler = a_pooler(generator="rack-2", state=PoolerState.ONLINE)
    pooler.revisions.create(number=1, state=RevisionState.APPLIED, finished_at=timezone.now() - timedelta(hours=1))
    sent: list[Any] = []
    examined: list[Any] = []
    monkeypatch.setattr(tasks.check_pooler, "apply_async", lambda args, expires: sent.append(args))
    monkeypatch.setattr(drift, "check", lambda pooler: examined.append(pooler.pk))
    tasks.check_drift()
    assert (sent, examined) == ([(str(pooler.pk),)], [pooler.pk])


def test_other_tasks_are_any_workers() -> None:
    assert route(tasks.check_everything.name, []) is None


def test_a_worker_listens_on_the_common_queue_and_on_its_own_and_gets_each_message_once() -> None:
    found = app.amqp.queues
    assert set(found) == {"celery", "poolers.local", "runs", "generator.local"}
    assert {(queue.exchange.name, queue.routing_key) for queue in found.values()} == {(name, name) for name in found}


def test_a_worker_of_one_kind_listens_on_its_queues_alone() -> None:
    assert queues.listened_on(WorkerKind.RUNS, "rack-2") == ["runs", "generator.rack-2"]
    assert queues.listened_on(WorkerKind.TASKS, "rack-2") == ["celery", "poolers.rack-2"]


def test_beat_leaves_a_pooler_of_another_generator_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = a_pool(pooler=a_pooler(generator="rack-2", port=1))
    sent: list[Any] = []
    monkeypatch.setattr(tasks.apply_pooler, "apply_async", lambda args, expires: sent.append(args))
    tasks.apply_what_waits()
    pool.refresh_from_db()
    assert (sent, pool.state_reason) == ([(str(pool.pooler_id),)], "")


def test_what_no_worker_of_its_generator_takes_up_says_so_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.apply_pooler, "apply_async", lambda args, expires: None)
    minutes_ago = timezone.now() - timedelta(minutes=2)
    pooler = a_pooler(generator="rack-2", settings_state=PoolState.PENDING)
    old, fresh, described = a_pool(pooler=pooler), a_pool(pooler=pooler), a_pool(pooler=pooler, state_reason="full")
    Pool.objects.filter(pk__in=[old.pk, described.pk]).update(updated_at=minutes_ago)
    Pooler.objects.update(updated_at=minutes_ago, apply_lease_until=timezone.now() + timedelta(minutes=1))
    tasks.apply_what_waits()
    # This holds while the pool is applied.
    assert set(Pool.objects.values_list("state_reason", flat=True)) == {"", "full"}
    Pooler.objects.update(apply_lease_until=None)
    tasks.apply_what_waits()
    missed = "no worker of generator rack-2 has taken it: make sure that it runs"
    found = dict(Pool.objects.values_list("pk", "state_reason"))
    assert found == {old.pk: missed, fresh.pk: "", described.pk: "full"}
    pooler.refresh_from_db()
    assert pooler.settings_reason == missed


def test_beat_has_drift_looked_for_where_the_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, anyones, ours = (a_pooler(generator=name, state=PoolerState.ONLINE) for name in ("rack-2", "", "local"))
    for pooler in (theirs, anyones, ours):
        a_pool(pooler=pooler, state=PoolState.APPLIED)
        pooler.revisions.create(number=1, state=RevisionState.APPLIED)
    sent: list[Any] = []
    examined: set[Any] = set()
    monkeypatch.setattr(tasks.check_pooler, "apply_async", lambda args, expires: sent.append((args, expires)))
    monkeypatch.setattr(drift, "check", lambda pooler: examined.add(pooler.pk))
    tasks.check_drift()
    assert (sent, examined) == ([((str(theirs.pk),), 30)], {anyones.pk, ours.pk})
