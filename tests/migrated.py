"""The migrated SQLite database of the test run, made once and copied: migrating costs eight seconds of a processor."""

import fcntl
import hashlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.apps import apps


@contextmanager
def copied(folder: Path, database: Path) -> Iterator[None]:
    """Put a copy at `database` for the block, which migrates it; the first block's result becomes the one to copy.

    One process at a time is in the block until there is one to copy.
    """
    original = folder / f"{_key()}.sqlite3"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if original.exists():
            fcntl.flock(lock, fcntl.LOCK_UN)
            shutil.copyfile(original, database)
        yield
        if not original.exists():
            _save(database, original)


def _save(database: Path, original: Path) -> None:
    made = original.with_suffix(".new")
    made.unlink(missing_ok=True)
    with closing(sqlite3.connect(database)) as session:
        session.execute("VACUUM INTO ?", [str(made)])  # with what its write-ahead log still holds
    made.rename(original)


def _key() -> str:
    """Name the state of all migrations: another one is never copied."""
    digest = hashlib.sha256()
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path).glob("migrations/*.py")):
            digest.update(f"{app.name} {path.name} ".encode() + path.read_bytes())
    return digest.hexdigest()[:32]
