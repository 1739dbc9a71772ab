"""The answers of `manage.py doctor`; with every part up it is among the live tests."""

import json
import shutil
import time
from collections import namedtuple
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from core.installation import pausing
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
