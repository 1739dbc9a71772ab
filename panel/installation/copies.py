"""Recognizes at a start that the home, or the metadata database, is a copy or came from a backup.

Home and database hold the same random id, a new one for each start, and the database holds the home's path and inode.
A copy of both has another path or inode; one of the two that is older than the other has another id.
"""

import json
import logging
import uuid
from pathlib import Path

from django.utils import timezone

from panel.installation.models import Installation
from panel.lib import private_files

FILE_NAME = "last_start.json"

logger = logging.getLogger(__name__)


def recognize(home: Path) -> Installation:
    """The installation, paused where this start finds a copy; the first start of a database ties it to the home."""
    inode, start = home.stat().st_ino, uuid.uuid4()
    found = Installation.objects.filter(pk=1).first()
    reason = _why_copied(found, home, inode) if found else ""
    now = {"home": str(home), "home_inode": inode, "last_start": start}
    if reason:
        logger.warning("paused: %s", reason)
        now |= {"paused_at": timezone.now(), "paused_because": reason}
    # both ids, until the database has the new one: a start that is killed in between is no copy
    _write_starts(home, [start, *([found.last_start] if found else [])])
    installation, _ = Installation.objects.update_or_create(pk=1, defaults=now)
    _write_starts(home, [start])
    return installation


def _why_copied(found: Installation, home: Path, inode: int) -> str:
    if found.home != str(home):
        return f"its home was {found.home} and is now {home}"
    if found.home_inode != inode:
        return f"its home {home} is not the folder that it was: it was copied, or restored from a backup"
    if str(found.last_start) not in _read_starts(home):
        return (
            f"its metadata database and its home {home} are not from the same start: one of them was copied, or "
            "restored from a backup"
        )
    return ""


def _read_starts(home: Path) -> list[str]:
    try:
        found = json.loads((home / FILE_NAME).read_text())
    except (OSError, ValueError):
        return []
    return found if isinstance(found, list) else []


def _write_starts(home: Path, starts: list[uuid.UUID]) -> None:
    private_files.replace(home / FILE_NAME, json.dumps([str(start) for start in starts]) + "\n")
