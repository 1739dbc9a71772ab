"""`manage.py backup FOLDER`: copies the metadata database while the panel runs, and the keys if asked to."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from core.installation import backups
from core.lib import private_files


class Command(BaseCommand):
    """Copies the metadata database."""

    help = "Copy the metadata database into FOLDER. Keep the keys elsewhere: with both, every password can be read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--keys", type=Path, metavar="FOLDER", help="also write secret_key and keys, into another folder"
        )

    def handle(self, *args: Any, folder: Path, keys: Path | None, **options: Any) -> None:
        """Write both, and say where."""
        if keys and keys.resolve() == folder.resolve():
            raise CommandError("keep the keys apart from the metadata: name another folder")
        try:
            self.stdout.write(f"metadata: {backups.save(settings.DATABASES['default'], folder)}")
        except backups.BackupFailed as error:
            raise CommandError(str(error)) from error
        if keys:
            keys.mkdir(parents=True, exist_ok=True, mode=0o700)
            private_files.replace(keys / "secret_key", settings.SECRET_KEY)
            private_files.replace(keys / "keys", ",".join(settings.POOLDECK_KEYS))
            self.stdout.write(f"keys: {keys}")
