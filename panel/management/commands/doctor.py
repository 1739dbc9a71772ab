"""`manage.py doctor`: whether everything the panel needs is well, with a remedy for each thing that is not."""

import json
import logging
from dataclasses import asdict
from typing import Any

from django.core.management import BaseCommand, CommandParser

from panel import diagnosis


class Command(BaseCommand):
    """Prints a line for each answer; exit code 1 where one of them is wrong, and 0 for mere warnings."""

    help = "Show versions, parts, clocks, queues, disk, permissions and settings, with a remedy for what is wrong."
    requires_system_checks = []  # it reports their messages itself

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print a list of objects instead")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the answers, and no log lines between them: what they would say is in the answers."""
        logging.disable(logging.INFO)
        try:
            found = list(diagnosis.answers())
        finally:
            logging.disable(logging.NOTSET)
        if options["json"]:
            self.stdout.write(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
        else:
            for one in found:
                self._print(one)
        if not all(one.is_ok for one in found):
            raise SystemExit(1)

    def _print(self, one: diagnosis.Answer) -> None:
        style, word = self.style.ERROR, "FAIL"
        if one.is_ok:
            style, word = (self.style.WARNING, "warn") if one.remedy else (self.style.SUCCESS, "ok  ")
        self.stdout.write(f"{style(word)} {one.subject}: {one.text}")
        if one.remedy:
            self.stdout.write(f"     {one.remedy}")
