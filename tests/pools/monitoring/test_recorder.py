"""What the recorder forgets, and what it does without Redis."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from core.lib import redis_client
from panel.quickstart.ports import free_port
from pools.models import EntryMinute, Event, PoolerMinute, PoolMinute, Restart
from pools.monitoring import recorder, redis_store
from tests.pools.monitoring.records import a_minute, an_event
from tests.pools.records import a_pool, an_entry

pytestmark = pytest.mark.django_db
DAYS_14 = 14 * 24 * 60


def test_minutes_past_their_days_are_forgotten_and_events_a_year_after_they_closed():
    pool = a_pool()
    for ago in (10, DAYS_14 - 5, DAYS_14 + 5):
        a_minute(pool, ago)
    open_event = an_event(pool)
    an_event(a_pool(), closed_at=timezone.now() - recorder.EVENTS_KEPT)
    kept, gone = (timezone.now() - timedelta(minutes=ago) for ago in (DAYS_14 - 5, DAYS_14 + 5))
    for at in (kept, gone):
        Restart.objects.create(pooler=pool.pooler, at=at, evidence="process")
    recorder.prune()
    assert [one.at for one in Restart.objects.all()] == [kept]
    now = int(time.time() // 60)
    assert [now - row.minute for row in PoolMinute.objects.order_by("-minute")] == [10, DAYS_14 - 5]
    assert list(Event.objects.all()) == [open_event]


def test_without_redis_nothing_is_recorded_and_nothing_raised(settings, caplog):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    redis_client.reset_shared()
    a_pool()
    recorder.record()
    redis_client.reset_shared()
    assert PoolMinute.objects.count() == 0
    assert "Redis can't be reached" in caplog.text


def test_entries_that_are_not_managed_have_minutes_too_and_their_pooler_sums_all(monkeypatch):
    pool = a_pool(name="ours")
    entry = an_entry(name="theirs", pooler=pool.pooler)
    an_entry(name="ours", pooler=pool.pooler, pool=pool)
    figures = {"ours": [3, 0, 2, 0, 0, 0], "theirs": [15, 1, 4, 0, 0, 0]}
    minute = int(time.time() // 60) - 1
    snapshot = [minute * 60 + 5.0, figures, None]
    monkeypatch.setattr(redis_store, "claim", lambda *_: True)
    monkeypatch.setattr(redis_store, "hold", lambda *_: None)
    monkeypatch.setattr(redis_store, "lists", lambda keys: [[snapshot] if str(minute) in key else [] for key in keys])
    recorder.store_minute(minute)
    assert list(PoolMinute.objects.values_list("pool", "cl_active_max")) == [(pool.pk, 3)]
    assert list(EntryMinute.objects.values_list("entry", "cl_active_max")) == [(entry.pk, 15)]
    assert PoolerMinute.objects.get().cl_active_max == 18
