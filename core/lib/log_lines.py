"""The format of the log."""

import logging

from core.lib import private_text, secret_addresses


class Lines(logging.Formatter):
    """Writes private texts as the operator reads them, and no secret of an address, in a traceback either."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback where there is one."""
        return secret_addresses.redacted(private_text.for_admins(super().format(record)))
