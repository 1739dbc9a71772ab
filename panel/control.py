"""The programs of an installed wheel: `pooldeckctl` is manage.py; `pooldeck` is the client, and its demo script/up."""

import os
import sys

import click

from core.audit.command_line import execute_from_command_line
from panel.command_line import pooldeck
from panel.upgrade import command


def manage() -> None:
    """Run the command of Django's that the arguments name; `upgrade` runs without Django, which it replaces."""
    if sys.argv[1:2] == ["upgrade"]:
        sys.exit(command.main(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    execute_from_command_line(sys.argv)


@pooldeck.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def demo(words: tuple[str, ...]) -> None:
    """Start a panel of its own with demo servers on this host: `pooldeck demo --help`."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    os.execv(sys.executable, [sys.executable, "-m", "panel.quickstart", *words])  # noqa: S606 (this very Python)
