"""Copies of the metadata database while the panel runs: SQLite by its backup API, PostgreSQL by its own programs.

A plain copy of the SQLite file misses what its write-ahead log still holds (https://www.sqlite.org/backup.html).
"""

import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from core.installation.backup_contents import BackupFailed
from core.installation.manifests import FILE_NAME
from core.lib import env

PROGRAMS_WITHIN_S = 3600
SQLITE, POSTGRES = "metadata.sqlite3", "metadata.dump"
DATED = "%Y%m%dT%H%M%SZ"
# pg_restore's own --clean drops only what the copy has: tables and foreign keys of a newer release would be in its way.
DROP_TABLES = """
DO $$
DECLARE found regclass;
BEGIN
    FOR found IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace
        AND relkind = 'r' AND split_part(relname, '_', 1) IN ({labels})
    LOOP
        EXECUTE 'DROP TABLE ' || found || ' CASCADE';
    END LOOP;
END $$;
"""


def save(database: Mapping[str, Any], folder: Path) -> Path:
    """Copy the database into a folder as a file that only its owner can read, and return it. Raises `BackupFailed`."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / (SQLITE if _is_sqlite(database) else POSTGRES)
    if path.exists():
        raise BackupFailed(_("%(path)s already exists: choose another folder") % {"path": path})
    path.touch(mode=0o600)
    try:
        if _is_sqlite(database):
            _copy(Path(database["NAME"]), path)
        else:
            _run(database, "pg_dump", "--format=custom", "--no-owner", f"--file={path}")
    except BackupFailed:
        path.unlink()  # a part of a copy would pass for a whole one
        raise
    return path


def copy_in(database: Mapping[str, Any], folder: Path) -> Path:
    """Return the copy in a folder that fits the database. Raises `BackupFailed` where there is none."""
    path = folder / (SQLITE if _is_sqlite(database) else POSTGRES)
    if not path.exists():
        raise BackupFailed(_("there is no %(path)s: was it made from a database of another kind?") % {"path": path})
    return path


def restore(database: Mapping[str, Any], folder: Path, labels: Sequence[str] = ()) -> None:
    """Overwrite the database with the copy in a folder, whole or not at all. Raises `BackupFailed`.

    `labels`: the first words of the names of tables that are dropped before, also where the copy has none of them.
    """
    path = copy_in(database, folder)
    if _is_sqlite(database):
        _copy(path, Path(database["NAME"]))
        return
    with tempfile.TemporaryDirectory(dir=folder if os.access(folder, os.W_OK) else None) as private:
        before, tables = Path(private, "before.sql"), Path(private, "tables.sql")
        before.write_text(DROP_TABLES.replace("{labels}", ", ".join(f"'{label}'" for label in labels or [""])))
        _run(database, "pg_restore", "--no-owner", "--no-privileges", f"--file={tables}", str(path), connects=False)
        files = [f"--file={before}", f"--file={tables}"]
        _run(database, "psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1", *files)


def remove_oldest(parent: Path, keep: int) -> list[Path]:
    """Remove whole backups from dated folders but the newest `keep`, and return those removed."""
    dated = [path for path in parent.iterdir() if re.fullmatch(r"\d{8}T\d{6}Z", path.name)]
    whole = sorted(path for path in dated if (path / FILE_NAME).exists())
    for path in whole[:-keep]:
        shutil.rmtree(path)
    return whole[:-keep]


def refuse_in_use(database: Mapping[str, Any]) -> None:
    """Raise `BackupFailed` while another process has a SQLite database open: its next write would damage the copy.

    Only who is alone may end the write-ahead log (https://www.sqlite.org/wal.html).
    """
    path = Path(database["NAME"])
    if not (_is_sqlite(database) and path.exists()):
        return
    try:
        with closing(sqlite3.connect(path, timeout=0)) as session:
            session.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        text = _("%(path)s is in use (%(error)s): stop web, workers, beat and other commands of this panel first")
        raise BackupFailed(text % {"path": path, "error": error}) from error


def _is_sqlite(database: Mapping[str, Any]) -> bool:
    return "sqlite" in database["ENGINE"]


def _copy(source: Path, target: Path) -> None:
    """Copy a SQLite database page by page, with what its write-ahead log holds, and check the copy."""
    try:
        with closing(sqlite3.connect(source)) as before, closing(sqlite3.connect(target)) as after:
            before.backup(after)
            (found,) = after.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.Error as error:
        raise BackupFailed(_("%(source)s: %(error)s") % {"source": source, "error": error}) from error
    if found != "ok":
        raise BackupFailed(_("%(target)s is damaged: %(found)s") % {"target": target, "found": found})


def _run(database: Mapping[str, Any], program: str, *words: str, connects: bool = True) -> None:
    """Run a program of PostgreSQL on the database; the password stands in its environment only."""
    named = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD", "PGDATABASE": "NAME"}
    login = {name: str(database.get(key) or "") for name, key in named.items()}
    options = {f"PG{name.upper()}": str(value) for name, value in database.get("OPTIONS", {}).items() if "ssl" in name}
    environment = env.of_other_programs() | {name: value for name, value in (login | options).items() if value}
    target = ["--dbname", login["PGDATABASE"]] if connects else []
    try:
        done = subprocess.run(
            [program, *target, *words], env=environment, capture_output=True, text=True, timeout=PROGRAMS_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackupFailed(_("%(program)s: %(error)s") % {"program": program, "error": error}) from error
    if done.returncode:
        raise BackupFailed(_("%(program)s: %(error)s") % {"program": program, "error": done.stderr.strip()})
