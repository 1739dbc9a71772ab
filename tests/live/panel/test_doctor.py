"""The doctor with each fault induced in real parts: it names the one that is wrong, with a remedy, and no other."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.db.migrations.recorder import MigrationRecorder

from benchmarks.generators import heartbeats
from core.installation import pausing
from core.lib import queues
from panel import diagnosis
from panel.quickstart.servers import RedisServer

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.live, pytest.mark.django_db]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root alone mounts folders and becomes others")


@pytest.fixture
def parts(
    own_redis: RedisServer, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator["redis.Redis"]:
    """A home with secrets, and a Redis in which beat and a worker for everything were heard of just now.

    They do not beat again, and a test asks all subjects several times.
    """
    monkeypatch.setattr(heartbeats, "ALIVE_WITHIN", timedelta(seconds=50))
    settings.HOME = settings.SECRETS_FOLDER = tmp_path
    settings.REDIS_URL = own_redis.url
    for name in diagnosis.SECRETS:
        (tmp_path / name).touch(0o600)
    with redis.Redis.from_url(own_redis.url) as client:
        client.flushdb()
        heartbeats.beat("here", queues.WorkerKind.ALL)
        heartbeats.report_beat()
        yield client
        client.config_set("maxmemory", 0)
        client.config_set("maxmemory-policy", "noeviction")
        client.flushdb()


def wrong() -> dict[str, str]:
    """The text of what is not well, by subject; each has a remedy."""
    found = [one for one in diagnosis.answers() if not one.is_ok and not one.subject.startswith("check ")]
    assert [one.subject for one in found if not one.remedy] == []
    return {one.subject: one.text for one in found}


def test_nothing_is_wrong_before(parts: "redis.Redis") -> None:
    assert wrong() == {}
    subjects = {one.subject for one in diagnosis.answers()}
    assert {"Pooldeck", "Python", "sandbox", "database", "redis", "memory of redis", "disk", "permissions"} <= subjects


def test_workers_that_are_not_heard_of(parts: "redis.Redis") -> None:
    parts.delete(heartbeats.RUNS)
    assert list(wrong()) == ["worker"]
    assert "no worker for runs sent a heartbeat lately" in wrong()["worker"]


def test_a_beat_that_was_last_heard_of_long_ago(parts: "redis.Redis") -> None:
    parts.delete(heartbeats.BEAT)
    parts.zadd(heartbeats.BEAT, {"here": time.time() - 60})
    assert re.match(r"beat was last heard of 6\d s ago", wrong()["beat"])


def test_a_queue_that_nobody_empties(parts: "redis.Redis") -> None:
    parts.rpush(queues.TASKS, *["task"] * (diagnosis.WAITING_TASKS + 1))
    assert wrong() == {"queue celery": "101 waiting"}


def test_tasks_for_a_worker_that_is_gone(parts: "redis.Redis") -> None:
    parts.zadd(heartbeats.RUNS, {"gone": time.time() - 3600, "gone-too": time.time() - 3600})
    parts.rpush(queues.of_poolers("gone"), "task")
    parts.rpush(queues.of_generator("gone"), "run")
    assert wrong() == {"queue of gone": "2 waiting for worker gone alone, which sent no heartbeat lately"}


def test_a_worker_on_another_machine(parts: "redis.Redis") -> None:
    """Nothing is wrong, but a support person would ask who else holds the keys."""
    subjects = {one.subject for one in diagnosis.answers()}
    heartbeats.beat("rack-2", queues.WorkerKind.RUNS)
    parts.hset(heartbeats.MACHINES, "rack-2", "rack-2.example")
    added = {one.subject: one for one in diagnosis.answers() if one.subject not in subjects}
    assert (set(added), wrong()) == ({"workers elsewhere", "clock of worker rack-2"}, {})
    elsewhere = added["workers elsewhere"]
    assert elsewhere.text == "these hold the keys and the database's login too: rack-2 on rack-2.example"
    assert (ROOT / elsewhere.remedy.rpartition(" ")[2]).is_file()
    heartbeats.forget("rack-2")
    assert {one.subject for one in diagnosis.answers()} == subjects


def test_a_redis_that_drops_tasks_or_is_full(parts: "redis.Redis") -> None:
    parts.config_set("maxmemory", 1 << 30)
    parts.config_set("maxmemory-policy", "allkeys-lru")
    assert wrong()["memory of redis"].endswith("of 1,074 MB, maxmemory-policy allkeys-lru")
    parts.config_set("maxmemory-policy", "noeviction")
    assert wrong() == {}
    parts.config_set("maxmemory", int(parts.info("memory")["used_memory"] * 1.05))
    assert list(wrong()) == ["memory of redis"]


def test_a_clock_that_is_a_minute_late(parts: "redis.Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "time", SimpleNamespace(time=lambda: time.time() - 60))
    assert wrong()["clock of redis"].startswith("+60.0 s from this")


@pytest.mark.parametrize(
    ("options", "told"), [("size=8m", "0.0 GB of 0.0 GB free at"), ("size=4g,nr_inodes=500", "inodes are free at")]
)
@as_root
def test_a_disk_without_room(parts: "redis.Redis", settings: Any, tmp_path: Path, options: str, told: str) -> None:
    settings.HOME = tmp_path / "full"
    settings.HOME.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", settings.HOME], check=True)
    try:
        assert told in wrong()["disk"]
    finally:
        subprocess.run(["umount", settings.HOME], check=True)


def test_settings_and_keys_that_others_may_read(parts: "redis.Redis", tmp_path: Path) -> None:
    (tmp_path / "environment").touch(0o644)
    assert "it has the password of the metadata database" in wrong()["permissions"]
    (tmp_path / "environment").chmod(0o640)
    assert wrong() == {}
    (tmp_path / "keys").chmod(0o640)
    assert f"{tmp_path / 'keys'} is open to others (-rw-r-----)" in wrong()["permissions"]


@as_root
def test_a_home_of_another_account(parts: "redis.Redis", tmp_path: Path) -> None:
    os.setreuid(65534, 0)  # access(2) asks for the real user
    try:
        assert f"{tmp_path / 'keys'} can't be used by uid 0" in wrong()["permissions"]
    finally:
        os.setreuid(0, 0)


def test_a_database_of_another_release(parts: "redis.Redis") -> None:
    recorded = MigrationRecorder.Migration.objects.create(app="pools", name="9999_newer")
    assert "this one does not know pools.9999_newer" in wrong()["schema"]
    recorded.delete()
    MigrationRecorder.Migration.objects.filter(app="pools").order_by("-name")[:1].get().delete()
    assert "not applied" in wrong()["migrations"]


def test_an_installation_that_is_paused(parts: "redis.Redis") -> None:
    pausing.pause("restored")
    assert list(wrong()) == ["installation"]


@pytest.mark.slow
def test_everything_is_answered_where_nothing_else_answers(tmp_path: Path) -> None:
    broken = {"DATABASE_URL": "postgresql://one:two@127.0.0.1:1/panel", "REDIS_URL": "redis://127.0.0.1:1/0"}
    variables = os.environ | broken | {"POOLDECK_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "panel.settings"}
    words = [sys.executable, "manage.py", "doctor", "--json"]
    done = subprocess.run(words, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=120)
    found = {one["subject"]: one for one in json.loads(done.stdout)}
    assert done.returncode == 1
    down = ["database", "migrations", "redis", "worker", "beat"]
    assert [name for name, one in found.items() if not one["is_ok"] and not name.startswith("check ")] == down
    assert [name for name in down if not found[name]["remedy"]] == []
    assert "Connection refused" in found["database"]["text"]
