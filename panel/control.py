"""`pooldeckctl`: Django's command line, as manage.py is in a checkout."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command that the arguments name."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    execute_from_command_line(sys.argv)
