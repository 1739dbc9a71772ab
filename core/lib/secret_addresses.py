"""Secrets in addresses, such as the token of a read-only link, which no log and no error report may hold.

Whoever reads a log could open them. Records are changed as they are made, whatever writes them: Django's logger of
failed requests, the access log of whatever web server runs the application, an error mail.
"""

import logging
import re
from collections.abc import Callable
from typing import Any

from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

HIDDEN = "[hidden]"
FOLDERS = ("shared",)  # what follows is a secret; tests/core/lib/test_secret_addresses.py holds the URLconf against it
QUERIES = ("token", "code", "state", "password", "secret", "key")
_IN_PATH = re.compile(rf"(/(?:{'|'.join(FOLDERS)})/)[^/?#\s\"'<>&]+")
_IN_QUERY = re.compile(rf"([?&](?:{'|'.join(QUERIES)})=)[^&#\s\"'<>]+", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return the text with `[hidden]` in place of each secret of an address."""
    return _IN_QUERY.sub(rf"\1{HIDDEN}", _IN_PATH.sub(rf"\1{HIDDEN}", text))


def redact_logs() -> None:
    """Let every log record of this process be made without such secrets; idempotent."""
    make = logging.getLogRecordFactory()
    if getattr(make, "redacts", False):
        return

    def without_secrets(*words: Any, **named: Any) -> logging.LogRecord:
        return _without_secrets(make, *words, **named)

    without_secrets.redacts = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(without_secrets)


def _without_secrets(make: Callable[..., logging.LogRecord], *words: Any, **named: Any) -> logging.LogRecord:
    record = make(*words, **named)
    record.msg = _value(record.msg)
    if isinstance(record.args, tuple):
        record.args = tuple(_value(one) for one in record.args)
    elif isinstance(record.args, dict):
        record.args = {name: _value(one) for name, one in record.args.items()}
    return record


def _value(value: Any) -> Any:  # noqa: ANN401 (whatever is logged)
    return redacted(str(value)) if isinstance(value, str | BaseException) else value


class RedactedReporter(ExceptionReporter):
    """The report of an error for a mail or a page, without the secrets of addresses."""

    def get_traceback_text(self) -> SafeString:
        """Return the report as text."""
        return SafeString(redacted(super().get_traceback_text()))

    def get_traceback_html(self) -> SafeString:
        """Return the report as a page."""
        return SafeString(redacted(super().get_traceback_html()))
