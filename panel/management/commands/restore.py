"""`manage.py restore FOLDER`: brings the metadata database back; the panel is paused until an admin resumes it."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connections

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats
from core.installation import backups, pausing
from panel.quickstart.home import AlreadyRunning, Home


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
        try:
            with Home(settings.HOME).locked():
                self._restore(folder)
        except AlreadyRunning as error:
            raise CommandError(f"nothing was restored: {error}") from error
        except backups.BackupFailed as error:
            raise CommandError(str(error)) from error
        self.stdout.write("restored; paused until an admin resumes it at /installation/")

    def _restore(self, folder: Path) -> None:
        if alive := _alive_processes():
            raise CommandError(
                f"the panel runs: {alive}; stop web, workers and beat, and repeat this "
                f"{heartbeats.ALIVE_WITHIN.seconds} s later"
            )
        database = settings.DATABASES["default"]
        connections.close_all()
        backups.refuse_in_use(database)
        backups.restore(database, folder)
        call_command("migrate", verbosity=0, interactive=False)
        pausing.pause(f"its metadata database was restored from {folder}")


def _alive_processes() -> str:
    """Return whom of beat and workers Redis heard of lately; empty for nobody, and where Redis is stopped too."""
    try:
        ages = heartbeats.ages_s()
    except QueueDown:
        return ""
    alive = {name: age for name, age in ages.items() if age is not None and age <= heartbeats.ALIVE_WITHIN.seconds}
    words = {"beat": "beat", "tasks": "a worker for tasks", "runs": "a worker for runs"}
    return ", ".join(f"{words[name]} was heard of {age:.0f} s ago" for name, age in alive.items())
