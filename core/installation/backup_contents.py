"""What a copy of the metadata database holds, found by reading all of it: rows of each table, and its migrations."""

import hashlib
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.translation import gettext as _

from core.lib import env

CHUNK_BYTES = 1 << 20
MIGRATIONS = "django_migrations"


class BackupFailed(Exception):
    """The copy was not made or not brought back; the message is the reason."""


@dataclass
class Contents:
    """Rows by table, and the applied migrations as `app.name`."""

    rows: dict[str, int] = field(default_factory=dict)
    migrations: set[str] = field(default_factory=set)


def read(path: Path) -> Contents:
    """Read a copy to its end. Raises `BackupFailed` where it can't be read or holds no metadata database."""
    contents = _of_sqlite(path) if path.suffix == ".sqlite3" else _of_dump(path)
    if MIGRATIONS not in contents.rows:
        raise BackupFailed(_("%(path)s holds no database of a panel") % {"path": path})
    return contents


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _of_sqlite(path: Path) -> Contents:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as session:
            (found,) = session.execute("PRAGMA integrity_check").fetchone()
            if found != "ok":
                raise BackupFailed(_("%(path)s is damaged: %(found)s") % {"path": path, "found": found})
            return _counted(session)
    except sqlite3.Error as error:
        raise BackupFailed(_("%(path)s: %(error)s") % {"path": path, "error": error}) from error


def _counted(session: sqlite3.Connection) -> Contents:
    tables = [name for (name,) in session.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    own = [name for name in tables if not name.startswith("sqlite_")]
    rows = {name: session.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in own}  # noqa: S608 (its own names)
    applied = session.execute(f"SELECT app, name FROM {MIGRATIONS}").fetchall() if MIGRATIONS in rows else []  # noqa: S608 (a constant)
    return Contents(rows, {f"{app}.{name}" for app, name in applied})


def _of_dump(path: Path) -> Contents:
    """Let pg_restore print the rows of an archive, which unpacks and checks each of its blocks."""
    argv = ["pg_restore", "--data-only", "--file=-", str(path)]
    try:
        with subprocess.Popen(
            argv, env=env.of_other_programs(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None  # noqa: S101 (it is a pipe)
            assert child.stderr is not None  # noqa: S101 (as above)
            contents = read_rows(child.stdout)
            complaint = child.stderr.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BackupFailed(_("%(path)s: %(error)s") % {"path": path, "error": error}) from error
    if child.returncode:
        raise BackupFailed(_("%(path)s can't be read: %(error)s") % {"path": path, "error": complaint})
    return contents


def read_rows(lines: Iterable[str]) -> Contents:
    """Count the rows of the COPY blocks of a dump, https://www.postgresql.org/docs/current/sql-copy.html."""
    contents, waiting = Contents(), iter(lines)
    for line in waiting:
        if not line.startswith("COPY ") or not line.endswith(" FROM stdin;\n"):
            continue
        head, _bracket, columns = line.removesuffix(") FROM stdin;\n").partition(" (")
        table = head.removeprefix("COPY ").rpartition(".")[2].strip('"')
        names, contents.rows[table] = columns.split(", "), 0
        for row in _until_end(waiting):
            contents.rows[table] += 1
            if table == MIGRATIONS:
                values = dict(zip(names, row.rstrip("\n").split("\t"), strict=True))
                contents.migrations.add(f"{values['app']}.{values['name']}")
    return contents


def _until_end(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == "\\.\n":
            return
        yield line
