"""Errors of the API's views as HTTP responses."""

import logging

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.response import Response
from rest_framework.views import exception_handler

from core.installation.outages import DATABASE_AWAY
from core.lib.crypto import SealBroken
from core.lib.errors import DomainError

RETRY_AFTER_S = 5
OUTAGE = gettext_lazy("the panel's metadata database does not answer: try again in a moment")

logger = logging.getLogger(__name__)


def handle_exception(error: Exception, context: dict[str, object]) -> Response | None:
    """Answer domain errors with their own status and message, outages with 503, others as DRF does."""
    if isinstance(error, DomainError):
        return Response(error.response_body(), status=error.status)
    if isinstance(error, SealBroken):
        logger.error("a stored secret can't be decrypted: %s", error)
        return Response({"detail": str(error)}, status=503)
    if isinstance(error, DATABASE_AWAY):
        logger.error("the metadata database does not answer: %s", error)
        connection.close_if_unusable_or_obsolete()
        return Response({"detail": OUTAGE}, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    if isinstance(error, RequestDataTooBig):
        return Response({"detail": too_large()}, status=413)
    return exception_handler(error, context)


def too_large() -> str:
    """Return the error for a request that exceeds the limit, which it names."""
    return _(
        "the request is larger than %(most)s bytes: send less at once; upload the output of a load program as a file"
    ) % {"most": f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,}"}
