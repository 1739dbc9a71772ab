"""Copies of the metadata database: with its write-ahead log, without the keys, and paused once brought back."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.generators import heartbeats
from core.audit.models import Entry
from core.installation import backup_contents, backups, copies, pausing, schema
from core.installation.backup_contents import BackupFailed, Contents
from core.installation.models import Installation
from core.lib.crypto import fingerprint
from panel.management.commands import restore
from panel.quickstart.home import Home

pytestmark = pytest.mark.django_db  # a backup and a restore leave entries


def database(path: Path) -> dict[str, object]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}


@pytest.fixture
def live(tmp_path: Path):
    """A database in use, whose rows are in its write-ahead log."""
    path = tmp_path / "live.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as session:
        session.execute("PRAGMA journal_mode = WAL")
        session.execute("PRAGMA wal_autocheckpoint = 0")
        session.execute("CREATE TABLE kept (word text)")
        session.execute("INSERT INTO kept VALUES ('before')")
        session.execute("CREATE TABLE django_migrations (app text, name text)")
        session.execute("INSERT INTO django_migrations VALUES ('pools', '0001_initial')")
        yield path, session


@pytest.fixture
def current(live, settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """That database as the panel's, with a home of its own."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setitem(settings.DATABASES, "default", database(live[0]))
    monkeypatch.setattr("panel.management.commands.restore.connections.close_all", lambda: None)
    return live


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
    with pytest.raises(BackupFailed, match="already exists"):
        backups.save(database(path), tmp_path / "backup")
    with pytest.raises(BackupFailed, match="there is no"):
        backups.restore(database(path), tmp_path / "nothing")


def test_a_backup_that_failed_leaves_no_part_and_can_be_tried_again(live, tmp_path: Path) -> None:
    path, _session = live
    damaged, folder = tmp_path / "damaged.sqlite3", tmp_path / "backup"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(BackupFailed, match="file is not a database"):
        backups.save(database(damaged), folder)
    assert list(folder.iterdir()) == []
    assert words(backups.save(database(path), folder)) == ["before"]


def test_a_copy_without_a_panel_in_it_is_no_backup(current, tmp_path: Path) -> None:
    current[1].execute("DROP TABLE django_migrations")
    with pytest.raises(CommandError, match="holds no database of a panel"):
        call_command("backup", tmp_path / "one")
    assert list((tmp_path / "one").iterdir()) == []


def test_the_keys_are_written_apart_and_only_when_asked_for(current, tmp_path: Path, settings, capsys) -> None:
    call_command("backup", tmp_path / "one")
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["manifest.json", "metadata.sqlite3"]
    held = "".join(path.read_text(errors="replace") for path in (tmp_path / "one").iterdir())
    assert not any(secret in held for secret in (*settings.POOLDECK_KEYS, settings.SECRET_KEY))
    for inside in (tmp_path / "two", tmp_path / "two" / "keys"):
        with pytest.raises(CommandError, match="keep the keys apart"):
            call_command("backup", tmp_path / "two", keys=inside)
    capsys.readouterr()
    call_command("backup", tmp_path / "two", keys=tmp_path / "keys")
    assert (tmp_path / "keys" / "keys").read_text() == ",".join(settings.POOLDECK_KEYS)
    assert (tmp_path / "keys" / "keys").stat().st_mode & 0o077 == 0
    assert capsys.readouterr().out.splitlines() == [
        f"metadata: {tmp_path / 'two' / 'metadata.sqlite3'}",
        "read back: 2 rows in 2 tables",
        f"keys: {tmp_path / 'keys'}; keep them on another machine or in a password safe: without them no stored "
        "password can be read",
    ]


def test_a_schedule_keeps_the_newest_and_touches_nothing_else(current, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "backups"
    for name in ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z", "before-2.0", "20250101T000000Z"):
        (folder / name).mkdir(parents=True)
        if not name.startswith("2025"):  # that one was not finished
            (folder / name / "manifest.json").write_text("{}")
    call_command("backup", folder, keep=2)
    left = sorted(path.name for path in folder.iterdir())
    assert left[:2] == ["20250101T000000Z", "20260103T000000Z"]
    assert (left[3:], (folder / left[2] / "manifest.json").exists()) == (["before-2.0"], True)
    with pytest.raises(CommandError, match="at least 1"):
        call_command("backup", folder, keep=0)


def refused(folder: Path, **options: bool) -> str:
    with pytest.raises(CommandError) as error:
        call_command("restore", folder, yes=True, **options)
    return str(error.value)


def test_a_changed_copy_other_keys_and_a_newer_schema_are_refused(current, tmp_path: Path, settings) -> None:
    path, session = current
    backup = tmp_path / "backup"
    call_command("backup", backup)
    session.execute("UPDATE kept SET word = 'after'")
    own, settings.POOLDECK_KEYS = settings.POOLDECK_KEYS, ["another"]
    told = refused(backup)
    assert fingerprint(own[0]) in told
    assert "append them to POOLDECK_KEYS" in told
    assert own[0] not in told
    settings.POOLDECK_KEYS = ["another", *own]
    with (backup / "metadata.sqlite3").open("ab") as copy:
        copy.write(b"more")
    assert "its checksum differs" in refused(backup)
    session.execute("INSERT INTO django_migrations VALUES ('pools', '9999_of_tomorrow')")
    call_command("backup", tmp_path / "newer")
    assert "does not know its migrations pools.9999_of_tomorrow" in refused(tmp_path / "newer")
    assert words(path) == ["after"]


@pytest.mark.parametrize("words", [{"other_keys": True}, {}])
def test_lost_keys_are_accepted_where_told_and_old_backups_have_no_manifest(
    current, tmp_path: Path, settings, words
) -> None:
    backup = tmp_path / "backup"
    call_command("backup", backup)
    if not words:
        (backup / "manifest.json").unlink()
    settings.POOLDECK_KEYS = ["another"]
    assert restore.verified(backup, words.get("other_keys", False)).rows == {"kept": 1, "django_migrations": 1}


def test_rows_that_did_not_come_back_are_named(current, tmp_path: Path, monkeypatch) -> None:
    call_command("backup", tmp_path / "backup")
    monkeypatch.setattr(backups, "restore", lambda *_: None)
    monkeypatch.setattr(schema, "row_counts", lambda _: {"kept": 0, "django_migrations": 1})
    current[1].close()
    assert "rows are missing after the restore, in kept" in refused(tmp_path / "backup")


def test_rows_and_migrations_of_a_dump_are_counted() -> None:
    dump = (
        "SET x;\nCOPY public.django_migrations (id, app, name, applied) FROM stdin;\n"
        "1\tpools\t0001_initial\tnow\n\\.\n\n"
        'COPY public."odd Name" (a) FROM stdin;\nCOPY x (a) FROM stdin;\n\\\\.\n\\.\n'
        "COPY public.none (a) FROM stdin;\n\\.\n"
    )
    expected = Contents({"django_migrations": 1, "odd Name": 2, "none": 0}, {"pools.0001_initial"})
    assert backup_contents.read_rows(dump.splitlines(keepends=True)) == expected


def test_a_database_of_a_newer_release_is_known_as_such() -> None:
    assert schema.unknown_migrations() == []
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('pools', '9999', '2026-01-01')")
    assert schema.unknown_migrations() == ["pools.9999"]


@pytest.fixture
def nothing_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restores end well without touching the database."""
    monkeypatch.setattr(restore, "verified", lambda *_: Contents())
    monkeypatch.setattr(backups, "restore", lambda *_: None)
    monkeypatch.setattr(backups, "refuse_in_use", lambda *_: None)
    monkeypatch.setattr("panel.management.commands.restore.connections.close_all", lambda: None)


@pytest.mark.usefixtures("nothing_overwritten")
def test_a_restored_panel_is_paused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--yes"):
        call_command("restore", tmp_path)
    call_command("restore", tmp_path, yes=True)
    assert pausing.is_paused()


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
@pytest.mark.usefixtures("nothing_overwritten")
def test_a_restore_has_the_reason_that_was_given(tmp_path: Path, settings) -> None:
    call_command("restore", tmp_path, yes=True, reason="  the disk\nof db3 died ")
    entry = Entry.objects.get(action="installation.restore")
    assert (entry.reason, entry.outcome) == ("the disk of db3 died", "done")
    settings.REQUIRE_REASON = True
    with pytest.raises(CommandError, match=r"give a reason: .*: add --reason"):
        call_command("restore", tmp_path, yes=True)
    with pytest.raises(CommandError, match="at most 500 characters"):
        call_command("restore", tmp_path, yes=True, reason="x" * 501)
    assert Entry.objects.filter(action="installation.restore").count() == 1
    call_command("restore", tmp_path, yes=True, go_back=True)  # an upgrade can't be asked
    assert Entry.objects.filter(action="installation.restore").count() == 2


@pytest.mark.usefixtures("nothing_overwritten")
def test_an_upgrade_that_goes_back_leaves_the_panel_as_it_was(tmp_path: Path, settings) -> None:
    settings.HOME = tmp_path
    first = copies.recognize(tmp_path).last_start
    copies.recognize(tmp_path)  # the new release had begun
    Installation.objects.update(last_start=first)  # what the restore brings back
    call_command("restore", tmp_path, yes=True, go_back=True)
    assert not pausing.is_paused()
    assert copies.recognize(tmp_path).paused_at is None


def test_nothing_is_restored_under_a_running_panel(current, tmp_path: Path, settings, monkeypatch) -> None:
    path, session = current
    call_command("backup", tmp_path / "backup")
    session.execute("UPDATE kept SET word = 'after'")
    refusals = []
    with Home(settings.HOME).opened() as home:
        home.write_holder("http://127.0.0.1:8000")
        refusals.append(refused(tmp_path / "backup"))
    with monkeypatch.context() as patch:
        patch.setattr(heartbeats, "ages_s", lambda: {"beat": 3.2, "tasks": None, "runs": 900.0})
        refusals.append(refused(tmp_path / "backup"))
    refusals.append(refused(tmp_path / "backup"))  # `session` is open
    assert refusals == [
        f"nothing was restored: Pooldeck is running already, at http://127.0.0.1:8000 (pid {os.getpid()}, home "
        f"{settings.HOME}): stop that one first, or set POOLDECK_HOME to another folder for a second installation",
        "the panel runs: beat was heard of 3 s ago; stop web, workers and beat, and repeat this 15 s later",
        f"{path} is in use (database is locked): stop web, workers, beat and other commands of this panel first",
    ]
    assert words(path) == ["after"]
    session.close()
    backups.refuse_in_use(database(path))  # nobody has it open any more


def test_the_manifest_says_what_was_backed_up(current, tmp_path: Path, settings) -> None:
    call_command("backup", tmp_path / "backup")
    told = json.loads((tmp_path / "backup" / "manifest.json").read_text())
    assert told["rows"] == {"kept": 1, "django_migrations": 1}
    assert told["migrations"] == ["pools.0001_initial"]
    assert told["keys"] == [fingerprint(key) for key in settings.POOLDECK_KEYS]
    assert told["sha256"] == backup_contents.sha256(tmp_path / "backup" / "metadata.sqlite3")
