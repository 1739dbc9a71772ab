"""What both apps' APIs share: paging, and domain errors as HTTP answers."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response
from rest_framework.views import exception_handler

from benchmarks.errors import BenchmarksError
from panel.crypto import SealBroken
from pools.errors import PoolsError

logger = logging.getLogger(__name__)


class Pages(PageNumberPagination):
    """`page` and `page_size`, at most 200 rows a page."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


def answer_of(error: PoolsError | BenchmarksError) -> dict[str, Any]:
    """The body of a domain error: its field errors where it has them, else `{detail}`."""
    errors: dict[str, Any] = getattr(error, "errors", {})
    return errors or {"detail": str(error)}


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Domain errors answer with their own status and message; the rest as DRF does."""
    if isinstance(error, PoolsError | BenchmarksError):
        return Response(answer_of(error), status=error.status)
    if isinstance(error, SealBroken):
        logger.error("a stored secret can't be opened: %s", error)
        return Response({"detail": str(error)}, status=503)
    return exception_handler(error, context)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: as JSON under the API, as a page elsewhere."""
    if request.path.startswith("/api/"):
        detail = f"there is nothing at {request.path}: see /api/docs/ (addresses end with a slash)"
        return JsonResponse({"detail": detail}, status=404)
    return defaults.page_not_found(request, exception)
