"""What both apps' APIs share: paging, and domain errors as HTTP answers."""

from typing import Any

from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response
from rest_framework.views import exception_handler

from benchmarks.errors import BenchmarksError
from pools.errors import PoolsError


class Pages(PageNumberPagination):
    """`page` and `page_size`, at most 200 rows a page."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Domain errors answer with their own status and message; the rest as DRF does."""
    if isinstance(error, PoolsError | BenchmarksError):
        return Response({"detail": str(error)}, status=error.status)
    return exception_handler(error, context)
