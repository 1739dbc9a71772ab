"""Answers to requests that no view answers: as JSON from the APIs, in a provider's shape from /v2/, else as a page."""

import sys

from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.translation import gettext as _
from django.views import defaults

from core.installation.outages import DATABASE_AWAY
from core.lib.crypto import SealBroken
from core.rest.errors import OUTAGE, RETRY_AFTER_S, too_large
from pools.managed_api import errors as managed_errors

MANAGED = "/v2/"  # Errors below this path have the format of a provider's API.
APIS = ("/api/", MANAGED)


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
        status, detail = 413, too_large()
    elif isinstance(exception, DisallowedHost):
        text = _("the panel does not serve the host name %(host)s: add it to POOLDECK_ALLOWED_HOSTS")
        detail = text % {"host": repr(request.META.get("HTTP_HOST", ""))}
    return refused(request.path, status, detail)


def refused(path: str, status: int, detail: str) -> HttpResponse:
    """Answer a request that no view gets, as JSON from the APIs, else as a page."""
    if path.startswith("/api/"):
        return JsonResponse({"detail": detail}, status=status)
    if path.startswith(MANAGED):
        return managed_errors.response(status, detail)
    return HttpResponse(loader.get_template("400.html").render({"reason": detail}), status=status)


def form_refused(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403 to a form whose CSRF token or origin is not accepted; `reason` is in Django's words."""
    context = {"is_of_another_origin": reason.startswith(("Origin", "Referer"))}
    return HttpResponse(loader.get_template("403_csrf.html").render(context), status=403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404, as JSON from the APIs, else as a page."""
    if request.path.startswith("/api/"):
        detail = _("there is nothing at %(path)s: see /api/docs/ (paths end with a slash)") % {"path": request.path}
        return JsonResponse({"detail": detail}, status=404)
    if request.path.startswith(MANAGED):
        return managed_errors.response(404, _("there is nothing at %(path)s") % {"path": request.path})
    return defaults.page_not_found(request, exception)
