"""The answers of `manage.py doctor`; with every part up it is among the live tests."""

import json
import shutil
import time
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from benchmarks.generators import heartbeats
from core.audit.models import Entry, StreamPosition
from core.audit.recording import Subject, record
from core.installation import pausing, trail
from core.installation.manifests import Manifest
from core.lib import syslog, upgrade_backups
from core.lib.figures import signed
from panel import diagnosis, health

pytestmark = pytest.mark.django_db
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def home(settings: Any, tmp_path: Path) -> Path:
    """A home with its secrets, and a Redis that is down."""
    settings.HOME = settings.SECRETS_FOLDER = tmp_path
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    for name in diagnosis.SECRETS:
        (tmp_path / name).touch(0o600)
    return tmp_path


def wrong() -> dict[str, diagnosis.Answer]:
    """What is not well, by subject."""
    return {one.subject: one for one in diagnosis.answers() if not one.is_ok}


def test_parts_that_are_down_have_their_cause_and_a_remedy() -> None:
    found = wrong()
    assert found["redis"].text.startswith("redis does not answer (")
    assert found["redis"].remedy == "start Redis (systemctl start pooldeck-redis), or correct REDIS_URL"
    assert "hidden" not in repr(found)
    assert "database" not in found


def test_a_secret_that_others_may_read_is_named(home: Path) -> None:
    (home / "keys").chmod(0o640)
    found = wrong()["permissions"]
    assert (str(home / "keys") in found.text, "-rw-r-----" in found.text) == (True, True)
    assert found.remedy.startswith(f"chmod go= {home / 'keys'}")


@pytest.mark.parametrize(("free", "is_ok"), [(60 << 30, True), (3 << 30, False), (1 << 20, False)])
def test_a_disk_that_is_nearly_full_is_named(monkeypatch: pytest.MonkeyPatch, free: int, is_ok: bool) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100 << 30, 0, free))
    assert ("disk" not in wrong()) is is_ok


@pytest.mark.parametrize(("apart_s", "is_ok"), [(0.5, True), (-60, False), (3, False)])
def test_a_clock_that_differs_is_named(monkeypatch: pytest.MonkeyPatch, apart_s: float, is_ok: bool) -> None:
    monkeypatch.setattr(diagnosis, "_time_of_redis", lambda: time.time() + apart_s)
    found = wrong()
    assert ("clock of redis" not in found) is is_ok
    assert is_ok or found["clock of redis"].text == f"{signed(apart_s, 1)} s from this machine's"


def about(subject: str) -> list[diagnosis.Answer]:
    return [one for one in diagnosis.answers() if one.subject == subject]


def test_a_clock_of_a_worker_that_differs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeats, "clocks_ahead_s", lambda: {"local": 0.04, "generator-2": -7.31})
    found = wrong()
    assert "clock of worker local" not in found
    assert found["clock of worker generator-2"].text == "−7.3 s from this machine's"
    assert found["clock of worker generator-2"].remedy.startswith("set both clocks by NTP")


@pytest.mark.django_db(transaction=True)
def test_a_backup_that_is_missing_or_old_is_a_warning(settings: Any, tmp_path: Path) -> None:
    assert about("backup") == [
        diagnosis.Answer(
            "backup", "none was made", True, "pooldeckctl backup FOLDER, or each night: docs/how-to/backup.md"
        )
    ]
    for days, remedy in ((8, "pooldeckctl backup"), (6, "")):
        made_at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        trail.record_backup(Manifest("0.1.0", made_at, "metadata.sqlite3", "ab"), tmp_path)
        (found,) = about("backup")
        assert (found.text, found.is_ok) == (f"the last one is {days}.0 days old", True)
        assert found.remedy.startswith(remedy)
        assert bool(found.remedy) is bool(remedy)
    settings.BACKUP_DAYS = 0
    Entry.objects.all().delete()
    assert about("backup") == [diagnosis.Answer("backup", "none was made")]


def test_backups_of_upgrades_are_counted(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("before-0.2.0-20261101T000000Z", "before-0.10.0-20261120T000000Z", "20261127T010000Z"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(upgrade_backups, "FOLDER", tmp_path)
    assert about("backup")[1].text == (
        f"2 of upgrades in {tmp_path}, the newest before-0.10.0-20261120T000000Z; an upgrade leaves the newest 3"
    )


@pytest.mark.django_db(transaction=True)
def test_what_waits_for_a_receiver_of_the_trail_is_named(settings: Any) -> None:
    assert about("audit stream") == []
    settings.AUDIT_SYSLOG = syslog.parse("tcp://logs.example.org:514")
    record("pool.change", Subject("pool", "1"))
    (found,) = about("audit stream")
    assert (found.is_ok, "have waited since" in found.text or "has waited since" in found.text) == (True, True)
    StreamPosition.objects.create(target="syslog", failing_since=timezone.now(), error="Connection refused")
    assert wrong()["audit stream"].text.endswith(": Connection refused")


def test_a_home_that_is_missing_leaves_the_other_answers(settings: Any, tmp_path: Path) -> None:
    settings.HOME = tmp_path / "gone"
    assert wrong()["disk"].remedy == "make the folder, or correct POOLDECK_HOME"


def test_a_paused_installation_is_named() -> None:
    pausing.pause("copied")
    assert wrong()["installation"].remedy == "resume it at /installation/"


def test_its_exit_code_says_whether_all_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "PARTS", {"database": health.database, "migrations": health.migrations})
    monkeypatch.setattr(diagnosis, "QUESTIONS", (diagnosis._parts,))
    printed = StringIO()
    call_command("doctor", stdout=printed)
    assert [line[:15] for line in printed.getvalue().splitlines()] == ["ok   database: ", "ok   migrations"]
    monkeypatch.setattr(diagnosis, "QUESTIONS", (diagnosis._clocks, lambda: iter([diagnosis.Answer("x", "y", False)])))
    printed = StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--json", stdout=printed)
    assert json.loads(printed.getvalue())[-1] == {"subject": "x", "text": "y", "is_ok": False, "remedy": ""}
