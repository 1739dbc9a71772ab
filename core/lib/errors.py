"""The base of the errors that an operation of the panel ends with; each app derives its own."""

from collections.abc import Mapping
from typing import Any


class DomainError(Exception):
    """An operation was refused or failed; the message names the value and the remedy.

    `status` is the HTTP status of the response, and `errors` are the messages by field where the input was not valid.
    """

    status = 400
    errors: Mapping[str, list[str]] = {}

    def response_body(self) -> Mapping[str, Any]:
        """Return the messages by field where there are any, else `{"detail": message}`."""
        return self.errors or {"detail": str(self)}
