"""A metadata database in PostgreSQL, copied and brought back by its own programs."""

from pathlib import Path

from core.installation import backups
from panel.quickstart.servers import PostgresServer


def test_a_postgresql_database_comes_back_as_it_was(postgres: PostgresServer, tmp_path: Path) -> None:
    login = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": postgres.port, "NAME": "kept"}
    login |= {"USER": "postgres", "PASSWORD": postgres.password}
    with postgres.connect() as session:
        session.execute("CREATE DATABASE kept")
    try:
        with postgres.connect("kept") as session:
            session.execute("CREATE TABLE kept AS SELECT 'before' AS word")
            copy = backups.save(login, tmp_path / "backup")
            session.execute("UPDATE kept SET word = 'after'")
        assert copy.stat().st_mode & 0o077 == 0
        backups.restore(login, tmp_path / "backup")
        with postgres.connect("kept") as session:
            assert session.execute("SELECT word FROM kept").fetchall() == [("before",)]
    finally:
        with postgres.connect() as session:
            session.execute("DROP DATABASE kept WITH (FORCE)")
