"""Tasks: an id in, the verb called, nothing raised for a record that is gone."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone

from core.lib.private_text import for_admins
from pools import deployment, tasks
from pools.deployment import drift
from pools.hosts.base import HostRefused
from pools.models import Pooler, PoolerKind, PoolerState, PoolState, RevisionState
from pools.poolers.faults import Rejected
from pools.poolers.pgpool.driver import Pgpool
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


def test_a_pooler_that_is_gone_is_no_error() -> None:
    tasks.apply_pooler(str(uuid.uuid4()))


def test_a_pooler_that_is_down_leaves_its_pools_waiting_with_the_reason() -> None:
    pool = a_pool(pooler=a_pooler(name="edge", port=1, config_dir="/nowhere"))
    tasks.apply_pooler(str(pool.pooler_id))
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING
    assert for_admins(pool.state_reason).startswith("pooler edge can't be reached: ")


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Pooler:
    """A pooler that gives each apply a revision, with the reason why it can't be."""

    def refuse(kind: Pgpool, pooler: Pooler) -> None:
        raise Rejected("it has no folder that the panel knows")

    monkeypatch.setattr(Pgpool, "open", refuse)
    pooler = a_pooler(kind=PoolerKind.PGPOOL)
    a_pool(pooler=pooler)
    return pooler


@pytest.mark.parametrize("task", [tasks.apply_pooler, tasks.overwrite_drift])
def test_a_revision_has_the_author_who_asked(refused: Pooler, task: Any) -> None:
    ann = User.objects.create_user("ann")
    task(str(refused.pk), ann.pk)
    revision = refused.revisions.get()
    assert (revision.author, revision.state) == (ann, RevisionState.ROLLED_BACK)


@pytest.mark.parametrize("task", [tasks.apply_pooler, tasks.overwrite_drift])
def test_an_author_who_was_removed_meanwhile_is_no_error(refused: Pooler, task: Any) -> None:
    task(str(refused.pk), 0)
    assert refused.revisions.get().author is None


def test_what_beat_applies_has_no_author(refused: Pooler) -> None:
    tasks.apply_what_waits()
    assert refused.revisions.get().author is None


def test_only_poolers_with_wishes_are_applied_and_dead_ones_not_at_every_beat() -> None:
    waiting, leaving, settled, resting = (a_pooler(name=name) for name in ("a", "b", "c", "d"))
    a_pool(pooler=waiting)
    a_pool(pooler=leaving, state=PoolState.APPLIED, removal_requested_at=timezone.now())
    a_pool(pooler=settled, state=PoolState.APPLIED)
    a_pool(pooler=settled, state=PoolState.ROLLED_BACK)
    a_pool(pooler=resting)
    resting.mark(PoolerState.UNREACHABLE, error="refused")
    assert deployment.waiting_poolers() == [waiting, leaving]
    waiting.mark(PoolerState.UNREACHABLE, error="refused")
    type(waiting).objects.filter(pk=waiting.pk).update(checked_at=timezone.now() - timedelta(seconds=11))
    assert deployment.waiting_poolers() == [waiting, leaving]


def test_beat_applies_what_waits() -> None:
    pool = a_pool(pooler=a_pooler(port=1))
    tasks.apply_what_waits()
    pool.refresh_from_db()
    assert "can't be reached" in pool.state_reason


def test_what_the_host_of_one_refuses_is_its_reason_and_the_others_are_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise HostRefused("sh did not end on host db-1 within 30 s, and was ended")

    monkeypatch.setattr(Pgpool, "open", refuse)
    first = a_pool(pooler=a_pooler(name="a", kind=PoolerKind.PGPOOL))
    second = a_pool(pooler=a_pooler(name="b", port=1))
    tasks.apply_what_waits()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, first.state_reason) == (
        PoolState.PENDING,
        "sh did not end on host db-1 within 30 s, and was ended",
    )
    assert "can't be reached" in second.state_reason


@pytest.mark.django_db(transaction=True)
def test_beat_checks_everything() -> None:
    pool = a_pool(pooler=a_pooler(port=1))
    tasks.check_everything()
    pool.pooler.refresh_from_db()
    assert pool.pooler.state == PoolerState.UNREACHABLE
    assert pool.cluster.status.error


def test_beat_looks_for_drift_within_a_minute_whatever_a_check_waits_for(settings: Any, monkeypatch: Any) -> None:
    due = settings.CELERY_BEAT_SCHEDULE["look-for-drift"]
    assert (due["task"], due["schedule"]) == (tasks.check_drift.name, 30.0)
    examined: list[str] = []
    monkeypatch.setattr(drift, "check", lambda pooler: examined.append(pooler.name))
    edge = a_pool(pooler=a_pooler(name="edge", state=PoolerState.ONLINE), state=PoolState.APPLIED).pooler
    edge.revisions.create(number=1, state=RevisionState.APPLIED)
    tasks.check_drift()
    assert examined == ["edge"]


def test_a_pooler_that_fails_in_a_way_nobody_foresaw_keeps_no_other_from_being_checked(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = sorted((a_pooler(), a_pooler()), key=lambda one: one.name)
    monkeypatch.setattr(tasks.drift, "comparable", lambda: [first, second])
    monkeypatch.setattr(tasks.task_queue, "is_ours", lambda _pooler: True)
    checked = []

    def check(pooler):
        checked.append(pooler)
        if pooler == first:
            raise KeyError("auth_type")

    monkeypatch.setattr(tasks.drift, "check", check)
    tasks.check_drift()
    assert checked == [first, second]
    assert f"pooler {first.pk} was not checked for drift" in caplog.text


def test_a_metadata_database_that_is_away_ends_the_round_of_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.drift, "comparable", lambda: [a_pooler(), a_pooler()])
    monkeypatch.setattr(tasks.task_queue, "is_ours", lambda _pooler: True)
    checked = []

    def check(pooler):
        checked.append(pooler)
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.drift, "check", check)
    with pytest.raises(OperationalError):
        tasks.check_drift()
    assert len(checked) == 1
