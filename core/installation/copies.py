"""Detects at start-up that the home or the metadata database is a copy, or was restored from a backup.

Each start writes a new random id to both, and the home's path and inode to the database. A copy of both has another
path or inode; where one of them is older than the other, their ids differ. A database without such a record is new, or
was made by a release that kept none: then it may be a copy where it knows poolers outside of this home.
"""

import json
import logging
import uuid
from collections.abc import Iterable
from pathlib import Path

from django.utils import timezone
from django.utils.translation import gettext as _

from core.installation.models import Installation
from core.lib import private_files

FILE_NAME = "last_start.json"

logger = logging.getLogger(__name__)


def recognize(home: Path, pooler_folders: Iterable[str] = ()) -> Installation:
    """Record this start and return the installation, paused where it is a copy.

    `pooler_folders`: the configuration folders of all poolers, empty where one has none; they matter at a database's
    first recorded start.
    """
    inode, start = home.stat().st_ino, uuid.uuid4()
    found = Installation.objects.filter(pk=1).first()
    reason = _why_copied(found, home, inode) if found else _why_unknown(home, pooler_folders)
    now = {"home": str(home), "home_inode": inode, "last_start": start}
    if reason:
        logger.warning("paused: %s", reason)
        now |= {"paused_at": timezone.now(), "paused_because": reason}
    # both ids until the database has the new one, so that a start killed in between does not look like a copy
    _write_starts(home, [start, *([found.last_start] if found else [])])
    installation, _created = Installation.objects.update_or_create(pk=1, defaults=now)
    _write_starts(home, [start])
    return installation


def continue_with_restored(home: Path) -> None:
    """Let the next start take the metadata database, restored to a moment ago, and its home as belonging together.

    It reads one column by name, as the database may have the columns of another release.
    """
    if last := Installation.objects.filter(pk=1).values_list("last_start", flat=True).first():
        _write_starts(home, [last])


def _why_copied(found: Installation, home: Path, inode: int) -> str:
    if found.home != str(home):
        return _("its home was %(old)s and is now %(new)s") % {"old": found.home, "new": home}
    if found.home_inode != inode:
        return _("its home %(home)s was copied or restored from a backup: it is another folder now") % {"home": home}
    if str(found.last_start) not in _read_starts(home):
        return _(
            "its metadata database and its home %(home)s are not from the same start: one of them was copied or "
            "restored from a backup"
        ) % {"home": home}
    return ""


def _why_unknown(home: Path, pooler_folders: Iterable[str]) -> str:
    """Return why a database without a record may be a copy: it knows poolers that another panel may write to."""
    elsewhere = [folder for folder in pooler_folders if not (folder and _is_inside(Path(folder), home))]
    if not elsewhere:
        return ""
    text = _(
        "its metadata database is of a release that kept no record of its home, and knows poolers outside of the home "
        "%(home)s (%(folders)s): another panel may manage them"
    )
    return text % {"home": home, "folders": ", ".join(sorted(set(filter(None, elsewhere)))[:5]) or _("watched ones")}


def _is_inside(folder: Path, home: Path) -> bool:
    return folder.resolve().is_relative_to(home.resolve())


def _read_starts(home: Path) -> list[str]:
    try:
        found = json.loads((home / FILE_NAME).read_text())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _write_starts(home: Path, starts: list[uuid.UUID]) -> None:
    private_files.replace(home / FILE_NAME, json.dumps([str(start) for start in starts]) + "\n")
