#!/usr/bin/env python
"""Django's command line for Pooldeck."""

import os
import sys

from core.audit.command_line import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")
    execute_from_command_line(sys.argv)
