"""What the workers are told: ids, once the wish is committed."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from pools import task_queue
from pools.models import PoolState
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db

Sent = list[tuple[str, int | None]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The arguments of each task; nothing reaches the queue."""
    found: Sent = []
    monkeypatch.setattr(task_queue, "send", lambda _, *values: found.append(values))
    return found


@pytest.fixture
def ann() -> User:
    """Somebody who asks."""
    return User.objects.create_user("ann")


def test_workers_are_told_the_pooler_and_who_asked_after_the_commit(
    sent: Sent, ann: User, django_capture_on_commit_callbacks: Any
) -> None:
    pooler = a_pooler()
    with django_capture_on_commit_callbacks(execute=True):
        task_queue.ask([pooler.pk, pooler.pk], ann)
        assert sent == []
    assert sent == [(str(pooler.pk), ann.pk)]


def test_nobody_has_to_be_named(sent: Sent, django_capture_on_commit_callbacks: Any) -> None:
    pooler = a_pooler()
    with django_capture_on_commit_callbacks(execute=True):
        task_queue.ask([pooler.pk])
    assert sent == [(str(pooler.pk), None)]


def test_pools_rendered_anew_are_pending_in_the_name_of_who_changed_their_cluster(
    sent: Sent, ann: User, django_capture_on_commit_callbacks: Any
) -> None:
    pool = a_pool(state=PoolState.APPLIED)
    with django_capture_on_commit_callbacks(execute=True):
        task_queue.ask_again([pool], ann)
    pool.refresh_from_db()
    assert (pool.state, sent) == (PoolState.PENDING, [(str(pool.pooler_id), ann.pk)])


def test_an_order_to_overwrite_is_sent_at_once_with_its_author(sent: Sent, ann: User) -> None:
    pooler = a_pooler()
    task_queue.ask_to_overwrite(pooler.pk, ann)
    assert sent == [(str(pooler.pk), ann.pk)]
