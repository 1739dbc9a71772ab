"""A metadata database in PostgreSQL, copied and brought back by its own programs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.installation import backup_contents, backups
from core.installation.backup_contents import BackupFailed, Contents
from panel.quickstart.servers import PostgresServer


@pytest.fixture
def login(postgres: PostgresServer) -> Iterator[dict[str, object]]:
    """A database with a row, and the migration that made its table."""
    with postgres.connect() as session:
        session.execute("CREATE DATABASE kept")
    with postgres.connect("kept") as session:
        session.execute("CREATE TABLE kept AS SELECT 1 AS id, 'before' AS word")
        session.execute("ALTER TABLE kept ADD PRIMARY KEY (id)")
        session.execute("CREATE TABLE django_migrations AS SELECT 1 AS id, 'pools' AS app, '0001_initial' AS name")
    login = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": postgres.port, "NAME": "kept"}
    yield login | {"USER": "postgres", "PASSWORD": postgres.password}
    with postgres.connect() as session:
        session.execute("DROP DATABASE kept WITH (FORCE)")


def test_a_database_comes_back_as_it_was(postgres: PostgresServer, login, tmp_path: Path) -> None:
    copy = backups.save(login, tmp_path / "backup")
    assert copy.stat().st_mode & 0o077 == 0
    assert backup_contents.read(copy) == Contents({"kept": 1, "django_migrations": 1}, {"pools.0001_initial"})
    with postgres.connect("kept") as session:
        session.execute("UPDATE kept SET word = 'after'")
        # what a newer release made
        session.execute("CREATE TABLE pools_newer (id int PRIMARY KEY, of int REFERENCES kept)")
        session.execute("ALTER TABLE kept ADD newer int UNIQUE REFERENCES pools_newer")
        session.execute("CREATE TABLE others_own AS SELECT 1")
    backups.restore(login, tmp_path / "backup", ["django", "kept", "pools"])
    with postgres.connect("kept") as session:
        assert session.execute("SELECT * FROM kept").fetchall() == [(1, "before")]
        tables = session.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    assert tables == [("django_migrations",), ("kept",), ("others_own",)]
    assert sorted(path.name for path in copy.parent.iterdir()) == ["metadata.dump"]


def test_a_restore_that_fails_leaves_everything(postgres: PostgresServer, login, tmp_path: Path) -> None:
    backups.save(login, tmp_path / "backup")
    with postgres.connect("kept") as session:
        session.execute("UPDATE kept SET word = 'after'")
        session.execute("CREATE VIEW on_it AS SELECT * FROM kept")
    with pytest.raises(BackupFailed, match='relation "kept" already exists'):
        backups.restore(login, tmp_path / "backup", ["django"])
    with postgres.connect("kept") as session:
        assert session.execute("SELECT word FROM on_it").fetchall() == [("after",)]
        assert session.execute("SELECT count(*) FROM django_migrations").fetchall() == [(1,)]


def test_a_dump_that_was_cut_is_no_backup(login, tmp_path: Path) -> None:
    copy = backups.save(login, tmp_path / "backup")
    copy.write_bytes(copy.read_bytes()[:-20])
    with pytest.raises(BackupFailed, match=r"metadata\.dump"):
        backup_contents.read(copy)
