"""`pooldeckctl admin-link`: prints a link by which the first administrator chooses a name and a password."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from core.accounts import first_admin

LONGEST_MINUTES = 7 * 24 * 60


class Command(BaseCommand):
    """Prints the link; exit code 1 where there is an administrator."""

    help = "Print a link by which the first administrator chooses a name and a password. It works once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--minutes", type=int, default=60, help="how long it works (default: %(default)s)")

    def handle(self, *args: Any, minutes: int, **options: Any) -> None:
        """Print the link alone, so that a script can read it; how long it works goes to standard error."""
        if not 1 <= minutes <= LONGEST_MINUTES:
            raise CommandError(f"--minutes {minutes}: use 1 to {LONGEST_MINUTES}, which is a week")
        try:
            token = first_admin.issue(timedelta(minutes=minutes))
        except first_admin.LinkRefused as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"Open this within {minutes} minutes; it works once:", style_func=str)
        self.stdout.write(f"{settings.PUBLIC_URL}{reverse('first-admin')}?token={token}")
