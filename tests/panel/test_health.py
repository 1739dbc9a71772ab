"""The health endpoints; the ready answer with every part up is among the live tests."""

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from benchmarks.generators import heartbeats
from panel import health
from tests import callers
from tests.pages import page_of

pytestmark = pytest.mark.django_db


def test_live_asks_nothing_of_any_part(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = Client().get("/healthz/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "live"})
    assert "no-store" in answer["Cache-Control"]


def test_ready_names_the_parts_that_are_down_without_telling_where_they_are(settings):
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    answer = Client().get("/healthz/ready")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "down",
        "down": ["redis", "worker", "beat"],
        "parts": {
            "database": "ok",
            "migrations": "ok",
            "redis": "redis does not answer",
            "worker": "unknown while redis does not answer",
            "beat": "unknown while redis does not answer",
        },
        "ages_s": {},
    }


@pytest.mark.parametrize(
    ("age_s", "found"),
    [
        (1.2, "ok"),
        (None, "beat was never heard of: start celery -A panel beat"),
        (61.2, "beat was last heard of 61 s ago, so nothing is checked or applied: start it again"),
    ],
)
def test_ready_tells_how_old_the_heartbeats_are_and_is_down_without_beat(monkeypatch, age_s, found):
    ages = {"beat": age_s, "tasks": 0.4, "runs": None}
    monkeypatch.setattr(heartbeats, "ages_s", lambda: ages)
    monkeypatch.setattr(health, "PARTS", {"beat": health.beat})
    answer = Client().get("/healthz/ready")
    assert (answer.status_code, answer.json()["parts"]["beat"]) == (200 if found == "ok" else 503, found)
    assert answer.json()["ages_s"] == ages


def test_ready_answers_200_when_every_part_is_well(monkeypatch):
    monkeypatch.setattr(health, "PARTS", {"database": health.database, "migrations": health.migrations})
    answer = Client().get("/healthz/ready")
    assert (answer.status_code, answer.json()["down"]) == (200, [])


def test_a_waiting_migration_is_named():
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()
    assert (
        Client().get("/healthz/ready").json()["parts"]["migrations"]
        == "1 of the migrations not applied: run manage.py migrate"
    )


@pytest.mark.parametrize("path", ["/healthz/live", "/healthz/ready"])
def test_only_reading_is_allowed(path):
    assert Client().post(path).status_code == 405


@pytest.mark.parametrize(
    ("missing", "described"),
    [
        ([], ""),
        (["tasks"], "No worker takes applies and checks"),
        (["runs"], "No generator is alive"),
        (["tasks", "runs"], "No worker takes applies and checks"),
    ],
)
def test_every_page_asks_what_no_worker_takes(client, monkeypatch, missing, described):
    monkeypatch.setattr(heartbeats, "missing", lambda: missing)
    monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"east": 0.0})
    client.force_login(callers.person())
    assert 'hx-get="/workers/"' in page_of(client.get("/"))
    answer = page_of(client.get("/workers/"))
    assert described in answer
    assert bool(answer.strip()) == bool(missing)


def test_every_page_names_the_live_workers_that_take_nothing(client, monkeypatch):
    monkeypatch.setattr(heartbeats, "missing", list)
    monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"east": 0.0, "north": 31.5, "west": 12.0})
    client.force_login(callers.person())
    answer = page_of(client.get("/workers/"))
    assert "A live worker takes nothing although work waits for it" in answer
    assert "north, west" in answer
    assert "east" not in answer


@pytest.mark.parametrize(
    ("missing", "stalled_s", "found"),
    [
        ([], {}, "ok"),
        (["runs"], {}, "no worker for runs sent a heartbeat lately: start POOLDECK_WORKER=runs celery -A panel worker"),
        ([], {"tasks": 31.4}, "the workers for tasks have taken no message for 31 s, though some wait: restart them"),
        (
            [],
            {"tasks": 31.4, "runs": 12.0},
            "the workers for tasks and runs have taken no message for 12 s, though some wait: restart them",
        ),
    ],
)
def test_ready_is_down_where_workers_live_and_take_nothing(monkeypatch, missing, stalled_s, found):
    monkeypatch.setattr(heartbeats, "missing", lambda: missing)
    monkeypatch.setattr(heartbeats, "stalled_work_s", lambda: stalled_s)
    monkeypatch.setattr(health, "PARTS", {"worker": health.worker})
    answer = Client().get("/healthz/ready")
    assert (answer.status_code, answer.json()["parts"]["worker"]) == (200 if found == "ok" else 503, found)
