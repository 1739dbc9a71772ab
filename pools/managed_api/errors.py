"""Errors in the provider's shape: `{"id", "message", "request_id"}`."""

import logging
import uuid
from collections.abc import Mapping

from django.http import JsonResponse
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from pools.approvals.errors import HeldBack
from pools.errors import PoolsError

logger = logging.getLogger(__name__)

IDS = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    422: "unprocessable_entity",
    429: "too_many_requests",
}
BAD_REQUEST, SERVER_ERROR = "bad_request", "server_error"


class Unsupported(PoolsError):
    """An operation of the provider on its own servers that this panel lacks; the message says what to do instead."""

    status = 422


class Duplicate(PoolsError):
    """The name is taken."""

    status = 409


def answer(error: Exception, own: Response | None, request_id: str) -> Response:
    """Put the answer of the panel's own API to an error into the provider's shape; bad values are 422, not 400."""
    if own is None:
        logger.error("request %s to /v2/ failed", request_id, exc_info=error)
        message = _("internal error: see the log of the panel's web process for request %(request_id)s")
        return Response(body(500, message % {"request_id": request_id}, request_id), status=500)
    if isinstance(error, HeldBack):  # the provider has no such answer, and its clients would take a 202 for done
        return Response(body(403, str(error), request_id), status=403)
    is_invalid = own.status_code == 400 and isinstance(error, ValidationError | PoolsError)
    status = 422 if is_invalid else own.status_code
    headers = {name: own[name] for name in ("WWW-Authenticate", "Retry-After") if own.has_header(name)}
    message = _sentence(own.data, by_field=isinstance(error, ValidationError))
    return Response(body(status, message, request_id), status=status, headers=headers)


def body(status: int, message: str, request_id: str) -> dict[str, str]:
    """Return the JSON of an error as the provider's clients read it."""
    otherwise = BAD_REQUEST if status < 500 else SERVER_ERROR
    return {"id": IDS.get(status, otherwise), "message": message, "request_id": request_id}


def response(status: int, message: str) -> JsonResponse:
    """Answer an error that no view met: an address that is no text of one line, or a failure outside of the views."""
    request_id = str(uuid.uuid4())
    if status >= 500:
        logger.error("request %s to /v2/ failed: %s", request_id, message)
    return JsonResponse(body(status, message, request_id), status=status, headers={"x-request-id": request_id})


def _sentence(data: object, *, by_field: bool) -> str:
    """Join the messages of `{detail}` or `{field: [messages]}`."""
    if isinstance(data, Mapping) and set(data) == {"detail"}:
        return str(data["detail"])
    if isinstance(data, Mapping):
        found = ((name, message) for name, messages in data.items() for message in _listed(messages))
        return "; ".join(f"{name}: {message}" if by_field else message for name, message in found)
    return "; ".join(_listed(data))


def _listed(messages: object) -> list[str]:
    return [str(one) for one in messages] if isinstance(messages, list | tuple) else [str(messages)]
