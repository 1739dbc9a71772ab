"""Requests with a NUL character where none can be: PostgreSQL stores and compares no text that has one."""

import logging
from collections.abc import Callable
from typing import Any

from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from panel.error_pages import refused

log = logging.getLogger(__name__)
OF_POSTGRESQL = "cannot contain NUL"  # psycopg's words


class NulCharacters:
    """Answers 400 in place of 500. Forms name the field themselves; parameters of lists are compared as they came."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:  # noqa: ANN401 (whatever the view answers)
        """Answer as the view does."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the answer to such a request; None for every other error."""
        if not isinstance(exception, DataError) or OF_POSTGRESQL not in str(exception):
            return None
        # where it came from the answer of a server or a program, the log says in which view
        log.warning("a value with a NUL character was refused by the metadata database", exc_info=exception)
        return refused(request.path, 400, _("a value of the request has a NUL character (0x00): leave it out."))
