"""The REST API of generators, without Redis; with it: tests/live/test_api.py."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from benchmarks import generators
from benchmarks.generators import Generator
from benchmarks.models import Status
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer

pytestmark = pytest.mark.django_db
URL = "/api/v1/generators/"


def test_without_redis_nobody_knows_who_lives(settings):
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    answer = bearer("read").get(URL)
    assert answer.status_code == 503
    assert "redis" in answer.json()["detail"]
    assert "hidden" not in answer.content.decode()


def test_a_generator_tells_when_it_was_seen_and_what_it_runs(monkeypatch, cluster):
    run = make_run(cluster, status=Status.RUNNING, generator="near")
    now, past = timezone.now(), datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(generators, "seen", lambda: [Generator("near", now), Generator("gone", past)])
    assert bearer("read").get(URL).json()["results"] == [
        {"name": "near", "last_seen_at": now.isoformat().replace("+00:00", "Z"), "alive": True, "run": str(run.pk)},
        {"name": "gone", "last_seen_at": "2026-01-01T00:00:00Z", "alive": False, "run": None},
    ]


def test_a_heartbeat_counts_for_a_while():
    now = timezone.now()
    assert Generator("x", now - generators.ALIVE_WITHIN).is_alive(now)
    assert not Generator("x", now - generators.ALIVE_WITHIN - timedelta(seconds=1)).is_alive(now)


def test_generators_are_for_reading_by_those_who_are_logged_in():
    assert anonymous().get(URL).status_code == 401
    assert bearer().post(URL, {}).status_code == 405
