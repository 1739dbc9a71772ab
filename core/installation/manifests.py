"""manifest.json of a backup: when, by which release and with which keys it was made, and what reading it back found."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from django.utils.translation import gettext as _

from core.installation import backup_contents
from core.installation.backup_contents import BackupFailed, Contents
from core.lib import private_files
from core.lib.crypto import fingerprint

FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """`keys` are fingerprints: they tell keys apart and open nothing."""

    release: str
    made_at: str
    file: str
    sha256: str
    keys: list[str] = field(default_factory=list)
    migrations: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)


def write(path: Path, contents: Contents, release: str, made_at: str, keys: Sequence[str]) -> Manifest:
    """Write the manifest of a copy beside it."""
    manifest = Manifest(
        release=release,
        made_at=made_at,
        file=path.name,
        sha256=backup_contents.sha256(path),
        keys=[fingerprint(key) for key in keys],
        migrations=sorted(contents.migrations),
        rows=contents.rows,
    )
    private_files.replace(path.with_name(FILE_NAME), json.dumps(asdict(manifest), indent=2) + "\n")
    return manifest


def read(folder: Path) -> Manifest | None:
    """Return the manifest in a folder; None for a backup of a release that wrote none. Raises `BackupFailed`."""
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        return Manifest(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise BackupFailed(_("%(path)s can't be read: %(error)s") % {"path": path, "error": error}) from error


def refuse_changed(manifest: Manifest, path: Path) -> None:
    """Raise `BackupFailed` where the copy is not byte for byte the one that was verified."""
    if backup_contents.sha256(path) != manifest.sha256:
        text = _("%(path)s is not what was backed up at %(time)s: its checksum differs. Take another backup")
        raise BackupFailed(text % {"path": path, "time": manifest.made_at})


def refuse_other_keys(manifest: Manifest, keys: Iterable[str]) -> None:
    """Raise `BackupFailed` where secrets of the copy may be encrypted by a key that this panel does not have."""
    if missing := sorted({*manifest.keys} - {fingerprint(key) for key in keys}):
        text = _(
            "the backup was made with keys that this panel does not have (fingerprints %(missing)s), so its stored "
            "passwords can't be decrypted: append them to POOLDECK_KEYS or to the file keys, separated by a comma. "
            "Only if they are lost, add --other-keys and enter all passwords again"
        )
        raise BackupFailed(text % {"missing": ", ".join(missing)})


def refuse_newer(contents: Contents, known: Iterable[str]) -> None:
    """Raise `BackupFailed` where the copy has migrations that this release does not know."""
    if unknown := sorted(contents.migrations - {*known}):
        text = _(
            "the backup is of a newer release: this one does not know its migrations %(names)s. Install the release "
            "that made it (manifest.json names it), then restore it there"
        )
        raise BackupFailed(text % {"names": ", ".join(unknown[:5])})
