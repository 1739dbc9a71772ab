"""`manage.py backup FOLDER`: copies the metadata database while the panel runs, and the keys if asked to."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from core.installation import backup_contents, backups, manifests, trail
from core.installation.backup_contents import BackupFailed
from core.lib import private_files
from panel import versions

KEEP_ELSEWHERE = "keep them on another machine or in a password safe: without them no stored password can be read"


class Command(BaseCommand):
    """Copies the metadata database."""

    help = "Copy the metadata database into FOLDER. Keep the keys elsewhere: with both, every password can be read."
    requires_system_checks = []  # what is wrong with the panel is no reason to be without a backup

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--keys", type=Path, metavar="FOLDER", help="also write secret_key and keys, into another folder"
        )
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            help="make a folder for this time in FOLDER, and keep only the newest N of those",
        )

    def handle(self, *args: Any, folder: Path, keys: Path | None, keep: int | None, **options: Any) -> None:
        """Write both, read the copy back, and say where they are."""
        if keys and (keys.resolve() == folder.resolve() or keys.resolve().is_relative_to(folder.resolve())):
            raise CommandError("keep the keys apart from the metadata: name another folder")
        if keep is not None and keep < 1:
            raise CommandError(f"--keep {keep}: keep at least 1 backup")
        now = datetime.now(UTC)
        target = folder / now.strftime(backups.DATED) if keep else folder
        try:
            self._save(target, now)
            removed = backups.remove_oldest(folder, keep) if keep else []
        except (BackupFailed, OSError) as error:
            raise CommandError(f"no backup was made: {error}") from error
        for path in removed:
            self.stdout.write(f"removed: {path}")
        if keys:
            _write_keys(keys)
            trail.record_keys_written(keys)
            self.stdout.write(f"keys: {keys}; {KEEP_ELSEWHERE}")

    def _save(self, folder: Path, now: datetime) -> None:
        path = backups.save(settings.DATABASES["default"], folder)
        try:
            contents = backup_contents.read(path)
            made_at = now.isoformat(timespec="seconds")
            manifest = manifests.write(path, contents, versions.installed(), made_at, _keys())
        except (BackupFailed, OSError):
            path.unlink()
            raise
        rows = sum(contents.rows.values())
        trail.record_backup(manifest, path)
        self.stdout.write(f"metadata: {path}")
        self.stdout.write(f"read back: {rows:,} rows in {len(contents.rows)} tables")


def _keys() -> list[str]:
    return list(settings.POOLDECK_KEYS)


def _write_keys(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_files.replace(folder / "secret_key", settings.SECRET_KEY)
    private_files.replace(folder / "keys", ",".join(settings.POOLDECK_KEYS))
