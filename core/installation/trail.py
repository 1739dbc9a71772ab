"""The acts on a whole installation in the audit trail: backups, restores, rotations of keys, and upgrades."""

from datetime import datetime
from pathlib import Path

from django.conf import settings

from core.audit.commands import record_if_possible
from core.audit.models import Entry
from core.audit.recording import Subject
from core.audit.tracking import ANNOUNCED
from core.installation import manifests
from core.installation.backup_contents import Contents
from core.installation.key_rotation import Count, Keys
from core.installation.manifests import Manifest

BACKUP, BACKUP_KEYS, RESTORE = "installation.backup", "installation.backup_keys", "installation.restore"
ROTATE, FORGET, UPGRADE = "installation.rotate_keys", "installation.forget_keys", "installation.upgrade"
ANNOUNCED.update((BACKUP, BACKUP_KEYS, RESTORE, ROTATE, FORGET, UPGRADE))


def _installation() -> Subject:
    return Subject("installation", "1", str(settings.HOME))


def record_backup(manifest: Manifest, path: Path) -> None:
    """Record that a backup was made and read back."""
    rows = sum(manifest.rows.values())
    about = {"made_at": manifest.made_at, "release": manifest.release, "sha256": manifest.sha256, "rows": rows}
    record_if_possible(BACKUP, _installation(), {"file": str(path.resolve()), **about})


def record_keys_written(folder: Path) -> None:
    """Record that the keys were written into a folder, which is all that a stolen backup lacks."""
    record_if_possible(BACKUP_KEYS, _installation(), {"folder": str(folder.resolve())})


def record_restore(folder: Path, contents: Contents) -> None:
    """Record in the restored database from where it was restored: it knows nothing of that otherwise."""
    manifest = manifests.read(folder)
    about = {"made_at": manifest.made_at, "release": manifest.release, "sha256": manifest.sha256} if manifest else {}
    rows = sum(contents.rows.values())
    record_if_possible(RESTORE, _installation(), {"folder": str(folder.resolve()), "rows": rows, **about})


def record_rotation(secrets: int) -> None:
    """Record that secrets were encrypted again under the first key; keys by their fingerprints."""
    first, *others = Keys().names
    record_if_possible(ROTATE, _installation(), {"encrypted_again": secrets, "under": first, "others": others})


def record_forgotten_keys(found: Count) -> None:
    """Record that the panel goes on without the keys of some secrets."""
    record_if_possible(FORGET, _installation(), {"unreadable": len(found.unreadable)})


def record_upgrade(before: str, after: str, outcome: str) -> None:
    """Record the end of an upgrade, or that it went back."""
    record_if_possible(UPGRADE, _installation(), {"release_before": before, "release_after": after}, outcome)


def last_backup_at() -> datetime | None:
    """Return when the last backup was made that the trail knows of; a restored one was made then, too."""
    found = Entry.objects.filter(action__in=[BACKUP, RESTORE]).order_by("-number")[:5]
    made = [str(entry.fields.get("after", {}).get("made_at") or "") for entry in found]
    return max((datetime.fromisoformat(one) for one in made if one), default=None)
