"""DATABASE_URL as Django's settings; SQLite as the panel opens it."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from django.db import DatabaseError
from django.db.utils import ConnectionHandler

from core.lib import database_url


def opened(path: Path) -> ConnectionHandler:
    """Connections of their own to the file, with the panel's settings."""
    return ConnectionHandler({"default": dict(database_url.from_url(f"sqlite:///{path}"))})


@pytest.mark.django_db  # any connection of Django needs it; its own is not used
def test_writers_of_sqlite_wait_for_their_turn(tmp_path: Path) -> None:
    """A transaction that reads first and writes later would fail at once, had it not taken the lock at its begin."""
    path = tmp_path / "panel.sqlite3"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE counted (value int)")
        made.execute("INSERT INTO counted VALUES (0)")
        made.commit()
    failures: list[Exception] = []

    def count(times: int) -> None:
        connection = opened(path)["default"]
        try:
            for _ in range(times):
                with connection.cursor() as cursor:
                    connection._start_transaction_under_autocommit()  # as `transaction.atomic` begins
                    ((value,),) = cursor.execute("SELECT value FROM counted").fetchall()
                    cursor.execute("UPDATE counted SET value = %s", [value + 1])
                    cursor.execute("COMMIT")
        except DatabaseError as error:
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=count, args=[25]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(sqlite3.connect(path)) as read:
        assert failures == []
        assert read.execute("SELECT value FROM counted").fetchall() == [(100,)]
        assert read.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_a_login_is_read_with_its_encoded_signs() -> None:
    found = database_url.from_url("postgresql://pa%40nel:w%2Frd@[::1]:5433/pooldeck?sslmode=require")
    named = {name: found[name] for name in ("USER", "PASSWORD", "HOST", "PORT", "NAME")}  # type: ignore[literal-required]
    assert named == {"USER": "pa@nel", "PASSWORD": "w/rd", "HOST": "::1", "PORT": "5433", "NAME": "pooldeck"}
    assert found["OPTIONS"]["sslmode"] == "require"


def test_another_kind_is_refused_without_the_login() -> None:
    with pytest.raises(ValueError, match="'mysql' is neither") as refused:
        database_url.from_url("mysql://panel:canary@db/panel")
    assert "canary" not in str(refused.value)
