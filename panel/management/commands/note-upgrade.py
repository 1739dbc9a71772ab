"""`pooldeckctl note-upgrade BEFORE AFTER OUTCOME`: what `pooldeckctl upgrade` calls at its end."""

from typing import Any

from django.core.management import BaseCommand, CommandParser

from core.installation import trail


class Command(BaseCommand):
    """Records an upgrade in the audit trail."""

    help = "Record an upgrade in the audit trail; pooldeckctl upgrade calls it at its end."
    requires_system_checks = []  # an upgrade that went back is recorded too

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", help="the release that was replaced")
        parser.add_argument("after", help="the release that was upgraded to")
        parser.add_argument("outcome", help="how the upgrade ended, such as done")

    def handle(self, *args: Any, before: str, after: str, outcome: str, **options: Any) -> None:
        """Record it."""
        trail.record_upgrade(before, after, outcome)
