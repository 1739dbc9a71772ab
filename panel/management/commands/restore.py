"""`manage.py restore FOLDER`: brings the metadata database back; the panel is paused until an admin resumes it."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connections

from panel.installation import backups, pausing


class Command(BaseCommand):
    """Overwrites the metadata database with a copy of `backup`."""

    help = "Bring the metadata database back from FOLDER and pause the panel. Stop web, workers and beat first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--yes", action="store_true", help="overwrite what the database holds now")

    def handle(self, *args: Any, folder: Path, yes: bool, **options: Any) -> None:
        """Bring it back, migrate it to this release, and pause."""
        if not yes:
            raise CommandError("this overwrites the metadata database: stop the panel, then add --yes")
        connections.close_all()
        try:
            backups.bring_back(settings.DATABASES["default"], folder)
        except backups.BackupFailed as error:
            raise CommandError(str(error)) from error
        call_command("migrate", verbosity=0, interactive=False)
        pausing.pause(f"its metadata database was restored from {folder}")
        self.stdout.write("restored; paused until an admin resumes it at /installation/")
