"""`manage.py rotate_keys`: encrypts every stored secret under the first key, so that the others can be removed."""

import sys
from typing import Any

import click
from django.core.management import BaseCommand, CommandError, CommandParser

from core.installation import key_rotation, known_keys, trail
from core.installation.key_rotation import Count, Keys

SHOWN = 20


class Command(BaseCommand):
    """Rotates the keys, or says which secrets need which key."""

    help = (
        "Encrypt every stored secret under the first key of POOLDECK_KEYS, while the panel runs. Start it again where "
        "it was ended."
    )
    requires_system_checks = []  # one of them refuses the missing key that --forget-lost is about

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--status",
            action="store_true",
            help="change nothing; exit code 1 while a secret needs an older key, or a missing one",
        )
        what.add_argument(
            "--forget-lost",
            action="store_true",
            help="let the panel start although secrets of a lost key can't be read: their passwords are entered again",
        )

    def handle(self, *args: Any, status: bool, forget_lost: bool, **options: Any) -> None:
        """Rotate unless asked otherwise, then print what each key is needed for."""
        if not status and not forget_lost:
            self._rotate()
        found = key_rotation.count()
        self._print(found)
        if forget_lost:
            known_keys.record()
            trail.record_forgotten_keys(found)
            self.stdout.write("the panel starts with the configured keys alone")
        elif found.unreadable or found.needing_older:
            raise SystemExit(1)

    def _rotate(self) -> None:
        if len(Keys().names) == 1:
            raise CommandError(
                "POOLDECK_KEYS has one key: put a new one before it, restart web, beat and workers, and repeat this"
            )
        rows = key_rotation.rows_to_read()
        with click.progressbar(length=rows, label="rows", show_pos=True, file=sys.stderr) as bar:
            rotated = key_rotation.rotate(bar.update)
        trail.record_rotation(rotated)
        self.stdout.write(f"encrypted again: {rotated:,} secrets")

    def _print(self, found: Count) -> None:
        names = Keys().names
        for number, (name, secrets) in enumerate(zip(names, found.by_key, strict=True), start=1):
            if number == 1:
                use = "it encrypts"
            else:
                use = "keep it: run rotate_keys" if secrets else "it can be removed, here and on every other host"
            self.stdout.write(f"key {number} ({name}): {secrets:,} secrets; {use}")
        if found.unreadable:
            shown = ", ".join(found.unreadable[:SHOWN]) + (", …" if len(found.unreadable) > SHOWN else "")
            self.stdout.write(self.style.ERROR(f"no key: {len(found.unreadable):,} secrets ({shown})"))
