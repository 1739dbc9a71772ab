"""Detects at start-up that the home or the metadata database is a copy, or was restored from a backup.

Each start writes a new random id to both, and the home's path and inode to the database. A copy of both has another
path or inode; where one of them is older than the other, their ids differ.
"""

import json
import logging
import uuid
from pathlib import Path

from django.utils import timezone
from django.utils.translation import gettext as _

from panel.installation.models import Installation
from panel.lib import private_files

FILE_NAME = "last_start.json"

logger = logging.getLogger(__name__)


def recognize(home: Path) -> Installation:
    """Record this start and return the installation, paused where it is a copy; a database's first start never is."""
    inode, start = home.stat().st_ino, uuid.uuid4()
    found = Installation.objects.filter(pk=1).first()
    reason = _why_copied(found, home, inode) if found else ""
    now = {"home": str(home), "home_inode": inode, "last_start": start}
    if reason:
        logger.warning("paused: %s", reason)
        now |= {"paused_at": timezone.now(), "paused_because": reason}
    # both ids until the database has the new one, so that a start killed in between does not look like a copy
    _write_starts(home, [start, *([found.last_start] if found else [])])
    installation, _created = Installation.objects.update_or_create(pk=1, defaults=now)
    _write_starts(home, [start])
    return installation


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


def _read_starts(home: Path) -> list[str]:
    try:
        found = json.loads((home / FILE_NAME).read_text())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _write_starts(home: Path, starts: list[uuid.UUID]) -> None:
    private_files.replace(home / FILE_NAME, json.dumps([str(start) for start in starts]) + "\n")
