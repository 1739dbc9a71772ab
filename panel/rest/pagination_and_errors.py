"""Pagination of the API, and errors as HTTP responses."""

import logging
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import defaults
from rest_framework.pagination import PageNumberPagination
from rest_framework.response import Response
from rest_framework.views import exception_handler

from benchmarks.errors import BenchmarksError
from panel.lib.crypto import SealBroken
from pools.errors import PoolsError
from pools.managed_api import errors as managed_errors

DATABASE_AWAY = (OperationalError, InterfaceError)
RETRY_AFTER_S = 5
MANAGED = "/v2/"  # whose errors have the shape of a provider
OUTAGE = gettext_lazy("the panel's metadata database does not answer: try again in a moment")

logger = logging.getLogger(__name__)


class Pages(PageNumberPagination):
    """`page` and `page_size`, at most 200 rows a page."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200


def answer_of(error: PoolsError | BenchmarksError) -> dict[str, Any]:
    """Return the body of a domain error: its errors by field where it has them, else `{detail}`."""
    errors: dict[str, Any] = getattr(error, "errors", {})
    return errors or {"detail": str(error)}


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer domain errors with their own status and message, outages with 503, others as DRF does."""
    if isinstance(error, PoolsError | BenchmarksError):
        return Response(answer_of(error), status=error.status)
    if isinstance(error, SealBroken):
        logger.error("a stored secret can't be decrypted: %s", error)
        return Response({"detail": str(error)}, status=503)
    if isinstance(error, DATABASE_AWAY):
        logger.error("the metadata database does not answer: %s", error)
        connection.close_if_unusable_or_obsolete()
        return Response({"detail": OUTAGE}, status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    if isinstance(error, RequestDataTooBig):
        return Response({"detail": _too_large()}, status=413)
    return exception_handler(error, context)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 while the database is down or a key is missing, else 500; as JSON from the APIs, else as a page."""
    error = sys.exc_info()[1]
    if request.path.startswith("/api/"):
        status, detail = _outage(error)
        return JsonResponse({"detail": detail}, status=status, headers=_retry_after(error))
    if request.path.startswith(MANAGED):
        return managed_errors.response(*_outage(error))
    if isinstance(error, DATABASE_AWAY):
        page = loader.get_template("503.html").render()
        return HttpResponse(page, status=503, headers=_retry_after(error))
    if isinstance(error, SealBroken):
        return HttpResponse(loader.get_template("key_missing.html").render({"reason": str(error)}), status=503)
    return defaults.server_error(request)


def _outage(error: BaseException | None) -> tuple[int, str]:
    """Return the status and the sentence of an error that no view answered."""
    if isinstance(error, DATABASE_AWAY):
        return 503, str(OUTAGE)
    if isinstance(error, SealBroken):
        return 503, str(error)
    return 500, _("internal error: see the log of the panel's web process")


def _retry_after(error: BaseException | None) -> dict[str, str]:
    return {"Retry-After": str(RETRY_AFTER_S)} if isinstance(error, DATABASE_AWAY) else {}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 413 for a body that is too large and 400 for others, as JSON from the APIs, else as a page."""
    status, detail = 400, _("the request can't be read: correct it")
    if isinstance(exception, RequestDataTooBig):
        status, detail = 413, _too_large()
    elif isinstance(exception, DisallowedHost):
        text = _("the panel does not serve the host name %(host)s: whoever runs it adds it to POOLDECK_ALLOWED_HOSTS")
        detail = text % {"host": repr(request.META.get("HTTP_HOST", ""))}
    if request.path.startswith("/api/"):
        return JsonResponse({"detail": detail}, status=status)
    if request.path.startswith(MANAGED):
        return managed_errors.response(status, detail)
    return HttpResponse(loader.get_template("400.html").render({"reason": detail}), status=status)


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form whose CSRF token or origin is not accepted; `reason` is in Django's words."""
    context = {"is_of_another_origin": reason.startswith(("Origin", "Referer"))}
    return HttpResponse(loader.get_template("403_csrf.html").render(context), status=403)


def _too_large() -> str:
    return _(
        "the request is larger than %(most)s bytes: send less at once; upload the output of a load program as a file"
    ) % {"most": f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE:,}"}


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404, as JSON from the APIs, else as a page."""
    if request.path.startswith("/api/"):
        detail = _("there is nothing at %(path)s: see /api/docs/ (paths end with a slash)") % {"path": request.path}
        return JsonResponse({"detail": detail}, status=404)
    if request.path.startswith(MANAGED):
        return managed_errors.response(404, _("there is nothing at %(path)s") % {"path": request.path})
    return defaults.page_not_found(request, exception)
