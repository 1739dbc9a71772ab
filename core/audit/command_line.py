"""Django's command line, whose commands leave entries in the audit trail; see `core.audit.commands`."""

from collections.abc import Sequence
from importlib import import_module

from django.apps import apps
from django.core.management import BaseCommand, ManagementUtility


class RecordingUtility(ManagementUtility):
    """Finds commands, and lets each be recorded that changes something."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return the command that a word names."""
        command = super().fetch_command(subcommand)
        if apps.ready:  # not where the settings are wrong, which the command then says
            import_module("core.audit.commands").let_record(subcommand, command)  # it needs the models
        return command


def execute_from_command_line(argv: Sequence[str]) -> None:
    """Run the command that the arguments name."""
    RecordingUtility(list(argv)).execute()
