"""Copies of the metadata database: with its write-ahead log, without the keys, and paused once brought back."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from benchmarks.generators import heartbeats
from core.installation import backups, pausing
from panel.quickstart.home import Home


def database(path: Path) -> dict[str, object]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}


@pytest.fixture
def live(tmp_path: Path):
    """A database in use, whose only row is in its write-ahead log."""
    path = tmp_path / "live.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as session:
        session.execute("PRAGMA journal_mode = WAL")
        session.execute("PRAGMA wal_autocheckpoint = 0")
        session.execute("CREATE TABLE kept (word text)")
        session.execute("INSERT INTO kept VALUES ('before')")
        yield path, session


def words(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as session:
        return [word for (word,) in session.execute("SELECT word FROM kept")]


def test_a_copy_holds_what_the_write_ahead_log_does_and_comes_back(live, tmp_path: Path) -> None:
    path, session = live
    copy = backups.save(database(path), tmp_path / "backup")
    session.execute("UPDATE kept SET word = 'after'")
    assert (words(copy), copy.stat().st_mode & 0o077) == (["before"], 0)
    backups.restore(database(path), tmp_path / "backup")
    assert words(path) == ["before"]
    with pytest.raises(backups.BackupFailed, match="already exists"):
        backups.save(database(path), tmp_path / "backup")
    with pytest.raises(backups.BackupFailed, match="there is no"):
        backups.restore(database(path), tmp_path / "nothing")


def test_a_backup_that_failed_leaves_no_part_and_can_be_tried_again(live, tmp_path: Path) -> None:
    path, _session = live
    damaged, folder = tmp_path / "damaged.sqlite3", tmp_path / "backup"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(backups.BackupFailed, match="file is not a database"):
        backups.save(database(damaged), folder)
    assert list(folder.iterdir()) == []
    assert words(backups.save(database(path), folder)) == ["before"]


@pytest.mark.django_db
def test_the_keys_are_written_apart_and_only_when_asked_for(live, tmp_path: Path, settings, monkeypatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", str(live[0]))
    call_command("backup", tmp_path / "one")
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["metadata.sqlite3"]
    with pytest.raises(CommandError, match="keep the keys apart"):
        call_command("backup", tmp_path / "two", keys=tmp_path / "two")
    call_command("backup", tmp_path / "two", keys=tmp_path / "keys")
    assert (tmp_path / "keys" / "keys").read_text() == ",".join(settings.POOLDECK_KEYS)
    assert (tmp_path / "keys" / "keys").stat().st_mode & 0o077 == 0


@pytest.mark.django_db
def test_a_restored_panel_is_paused(monkeypatch, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--yes"):
        call_command("restore", tmp_path)
    monkeypatch.setattr(backups, "restore", lambda *_: None)
    monkeypatch.setattr(backups, "refuse_in_use", lambda *_: None)
    monkeypatch.setattr("panel.management.commands.restore.connections.close_all", lambda: None)
    call_command("restore", tmp_path, yes=True)
    assert pausing.is_paused()


def test_nothing_is_restored_under_a_running_panel(live, tmp_path: Path, settings, monkeypatch) -> None:
    path, session = live
    backups.save(database(path), tmp_path / "backup")
    session.execute("UPDATE kept SET word = 'after'")
    settings.HOME = tmp_path / "home"
    monkeypatch.setitem(settings.DATABASES, "default", database(path))
    monkeypatch.setattr("panel.management.commands.restore.connections.close_all", lambda: None)
    refusals = []

    def refused() -> str:
        with pytest.raises(CommandError) as error:
            call_command("restore", tmp_path / "backup", yes=True)
        return str(error.value)

    with Home(settings.HOME).held() as home:
        home.write_holder("http://127.0.0.1:8000")
        refusals.append(refused())
    with monkeypatch.context() as patch:
        patch.setattr(heartbeats, "ages_s", lambda: {"beat": 3.2, "tasks": None, "runs": 900.0})
        refusals.append(refused())
    refusals.append(refused())  # `session` is open
    assert refusals == [
        f"nothing was restored: Pooldeck is running already, at http://127.0.0.1:8000 (pid {os.getpid()}, home "
        f"{settings.HOME}): stop that one first, or set POOLDECK_HOME to another folder for a second installation",
        "the panel runs: beat was heard of 3 s ago; stop web, workers and beat, and repeat this 15 s later",
        f"{path} is in use (database is locked): stop web, workers, beat and other commands of this panel first",
    ]
    assert words(path) == ["after"]
    session.close()
    backups.refuse_in_use(database(path))  # nobody has it open any more
