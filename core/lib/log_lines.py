"""The format of the log."""

import logging

from core.lib import private_text


class Lines(logging.Formatter):
    """Writes private texts as the operator reads them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback where there is one."""
        return private_text.for_admins(super().format(record))
