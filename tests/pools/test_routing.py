"""An apply goes to the worker that can write to the pooler's folder."""

import uuid
from typing import Any

import pytest

from panel.celery import app
from pools import tasks
from pools.routing import route
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("task", [tasks.apply_pooler, tasks.overwrite_drift])
def test_an_apply_goes_to_the_poolers_generator(task: Any) -> None:
    pooler = a_pooler(generator="rack-2")
    assert route(task.name, [str(pooler.pk)]) == {"queue": "generator.rack-2"}


def test_any_worker_may_apply_a_pooler_without_a_generator() -> None:
    assert route(tasks.apply_pooler.name, [str(a_pooler().pk)]) is None
    assert route(tasks.apply_pooler.name, [str(uuid.uuid4())]) is None


def test_other_tasks_are_any_workers() -> None:
    assert route(tasks.check_everything.name, []) is None


def test_a_worker_listens_on_the_common_queue_and_on_its_own_and_gets_each_message_once() -> None:
    queues = app.amqp.queues
    assert set(queues) == {"celery", "generator.local"}
    assert {(queue.exchange.name, queue.routing_key) for queue in queues.values()} == {(name, name) for name in queues}


def test_beat_leaves_a_pooler_of_another_generator_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = a_pool(pooler=a_pooler(generator="rack-2", port=1))
    sent: list[Any] = []
    monkeypatch.setattr(tasks.apply_pooler, "apply_async", lambda args, expires: sent.append(args))
    tasks.apply_what_waits()
    pool.refresh_from_db()
    assert (sent, pool.state_reason) == ([(str(pool.pooler_id),)], "")
