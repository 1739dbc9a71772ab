"""What takes long to make is made once per test run and copied: the migrated database, and the collected pages.

Migrating costs 4 to 8 seconds of a processor, and collecting 6.
"""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.apps import apps

from core.lib.env import BASE_DIR
from panel.quickstart import page_files
from panel.quickstart.home import Home

FIRST_START = """
import django; django.setup()
from panel import settings
from panel.quickstart import page_files, serving
from panel.quickstart.home import Home
from panel.quickstart.progress import Steps
home = Home(settings.HOME); home.open()
page_files.collect(home, Steps())
serving.migrate()
"""


@contextmanager
def migrated(folder: Path, database: Path) -> Iterator[None]:
    """Put a copy at `database` for the block, which migrates it; the first block's result becomes the one to copy.

    One process at a time is in the block until there is one to copy.
    """
    original = folder / f"{_migrations()}.sqlite3"
    with _locked(folder) as lock:
        if original.exists():
            fcntl.flock(lock, fcntl.LOCK_UN)
            shutil.copyfile(original, database)
        yield
        if not original.exists():
            _save(database, original)


def fill(folder: Path, home: Path) -> None:
    """Give an empty home what its first start takes longest to make; the start finds it and goes on from there."""
    original = first_start(folder)
    shutil.copytree(original / "static", home / "static", dirs_exist_ok=True)
    shutil.copyfile(original / "pooldeck.sqlite3", home / "pooldeck.sqlite3")
    filled = Home(home)
    filled.open()
    filled.keep("pages", "sources", page_files.stamp())


def first_start(folder: Path) -> Path:
    """Return the home after a first start, with `static/` and `pooldeck.sqlite3`; it is to be read only."""
    original = folder / f"{_migrations()}-{page_files.stamp()[:16]}"
    with _locked(folder, "lock-of-first-start"):
        if not original.exists():
            _make_first_start(original)
    return original


def _make_first_start(original: Path) -> None:
    made = original.with_suffix(".new")
    shutil.rmtree(made, ignore_errors=True)
    database = made / "pooldeck.sqlite3"
    named = {"DJANGO_SETTINGS_MODULE": "panel.settings", "POOLDECK_HOME": str(made)}
    environment = os.environ | named | {"DATABASE_URL": f"sqlite:///{database}"}
    made.mkdir(0o700)
    with migrated(original.parent, database):
        subprocess.run([sys.executable, "-c", FIRST_START], cwd=BASE_DIR, env=environment, check=True, timeout=240)
    _save(database, made / "whole.sqlite3")
    (made / "whole.sqlite3").rename(database)
    made.rename(original)


@contextmanager
def _locked(folder: Path, name: str = "lock") -> Iterator[int]:
    with (folder / name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _save(database: Path, original: Path) -> None:
    made = original.with_suffix(".new")
    made.unlink(missing_ok=True)
    with closing(sqlite3.connect(database)) as session:
        session.execute("VACUUM INTO ?", [str(made)])  # VACUUM INTO includes the pages in the write-ahead log.
    made.rename(original)


def _migrations() -> str:
    """Return a hash of all migrations: a database with others is never copied."""
    digest = hashlib.sha256()
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path).glob("migrations/*.py")):
            digest.update(f"{app.name} {path.name} ".encode() + path.read_bytes())
    return digest.hexdigest()[:32]
