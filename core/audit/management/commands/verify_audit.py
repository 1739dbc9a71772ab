"""The command that checks the chain of the audit trail."""

from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from core.audit import chain


class Command(BaseCommand):
    """Read every entry; exit with 1 and the number of the first row that was changed, removed or put in."""

    help = "Check that no entry of the audit trail was changed or removed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take a head that was saved before."""
        parser.add_argument(
            "--head",
            metavar="NUMBER:HASH",
            type=chain.Head.parse,
            help="what an earlier call printed: finds a trail that was cut at its end, or written anew",
        )

    def handle(self, *_args: object, **options: chain.Head | None) -> None:
        """Print the head, to be saved elsewhere and given to the next call."""
        try:
            head = chain.verify(options["head"])
        except chain.Broken as broken:
            raise CommandError(f"the audit trail is broken: {broken}") from broken
        self.stdout.write(f"The audit trail holds. Keep its head for the next check:\n{head}")
