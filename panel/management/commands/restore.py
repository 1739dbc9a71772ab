"""`manage.py restore FOLDER`: brings the metadata database back; the panel is paused until an admin resumes it."""

from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connections

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats
from core.accounts import reasons
from core.audit import actors
from core.installation import backup_contents, backups, copies, known_keys, manifests, pausing, schema, trail
from core.installation.backup_contents import BackupFailed, Contents
from panel.quickstart.home import AlreadyRunning, Home


class Command(BaseCommand):
    """Overwrites the metadata database with a copy of `backup`."""

    help = "Bring the metadata database back from FOLDER and pause the panel. Stop web, workers and beat first."
    requires_system_checks = []  # what is wrong with the panel may be what the backup mends

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--yes", action="store_true", help="overwrite what the database holds now")
        parser.add_argument(
            "--other-keys",
            action="store_true",
            help="restore although stored passwords can't be decrypted: their keys are lost",
        )
        parser.add_argument(
            "--go-back",
            action="store_true",
            help="neither migrate nor pause: for an upgrade that failed, whose panel this is and which has stopped it",
        )
        parser.add_argument("--reason", default="", help="why, in one sentence for the audit trail")

    def handle(
        self,
        *args: Any,
        folder: Path,
        yes: bool,
        other_keys: bool = False,
        go_back: bool = False,
        reason: str = "",
        **options: Any,
    ) -> None:
        """Bring it back, migrate it to this release, and pause."""
        if not yes:
            raise CommandError("this overwrites the metadata database: stop the panel, then add --yes")
        reason = " ".join(reason.split())
        if not go_back and (error := reasons.fault(reason)):
            raise CommandError(f"{error}: add --reason")
        with actors.because(reason):
            self._restore(folder, other_keys=other_keys, go_back=go_back)

    def _restore(self, folder: Path, *, other_keys: bool, go_back: bool) -> None:
        try:
            contents = verified(folder, other_keys)
            with Home(settings.HOME).locked():
                self._refuse_running(is_stopped=go_back)
                _overwrite(folder, contents)
                if go_back:
                    copies.continue_with_restored(settings.HOME)
                else:
                    call_command("migrate", verbosity=0, interactive=False)
                    if other_keys:
                        known_keys.record()
                    pausing.pause(f"its metadata database was restored from {folder}")
                trail.record_restore(folder, contents)
        except AlreadyRunning as error:
            raise CommandError(f"nothing was restored: {error}") from error
        except BackupFailed as error:
            raise CommandError(str(error)) from error
        rows = f"{sum(contents.rows.values()):,} rows in {len(contents.rows)} tables"
        self.stdout.write(
            f"restored: {rows}" if go_back else f"restored: {rows}; paused until an admin resumes it at /installation/"
        )

    def _refuse_running(self, *, is_stopped: bool) -> None:
        if not is_stopped and (alive := _alive_processes()):
            raise CommandError(
                f"the panel runs: {alive}; stop web, workers and beat, and repeat this "
                f"{heartbeats.ALIVE_WITHIN.seconds} s later"
            )
        connections.close_all()
        backups.refuse_in_use(settings.DATABASES["default"])


def verified(folder: Path, other_keys: bool) -> Contents:
    """Read the copy in a folder to its end; raises `BackupFailed` where this panel can't use it."""
    path = backups.copy_in(settings.DATABASES["default"], folder)
    if manifest := manifests.read(folder):
        manifests.refuse_changed(manifest, path)
        if not other_keys:
            manifests.refuse_other_keys(manifest, settings.POOLDECK_KEYS)
    contents = backup_contents.read(path)
    manifests.refuse_newer(contents, schema.known_migrations())
    return contents


def _overwrite(folder: Path, contents: Contents) -> None:
    """Bring the copy back and count its rows again."""
    labels = sorted({config.label for config in apps.get_app_configs()} | {"django"})
    backups.restore(settings.DATABASES["default"], folder, labels)
    if (found := schema.row_counts(list(contents.rows))) != contents.rows:
        differing = sorted(name for name, count in contents.rows.items() if found.get(name) != count)
        raise BackupFailed(f"rows are missing after the restore, in {', '.join(differing)}: restore it again")


def _alive_processes() -> str:
    """Return whom of beat and workers Redis heard of lately; empty for nobody, and where Redis is stopped too."""
    try:
        ages = heartbeats.ages_s()
    except QueueDown:
        return ""
    alive = {name: age for name, age in ages.items() if age is not None and age <= heartbeats.ALIVE_WITHIN.seconds}
    words = {"beat": "beat", "tasks": "a worker for tasks", "runs": "a worker for runs"}
    return ", ".join(f"{words[name]} was heard of {age:.0f} s ago" for name, age in alive.items())
