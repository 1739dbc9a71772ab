"""Middleware that lets each reader of a response have their reading of private texts."""

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from core.accounts.models import Scope
from core.accounts.permissions import holds
from core.lib import private_text


def private_texts(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Choose the reading in every response and stream, whatever made it: no page and no export can forget to."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = get_response(request)
        if isinstance(response, HttpResponse):
            response.content = as_read_by(request, response.content)
        return _with_stream(request, response)

    return answer


def _with_stream(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if isinstance(response, StreamingHttpResponse):
        parts: Any = response.streaming_content  # an iterator of either kind, as the response is
        response.streaming_content = (
            _read_each(request, parts) if response.is_async else map(partial(as_read_by, request), parts)
        )
    return response


async def _read_each(request: HttpRequest, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield await _read_async(request, part)


async def _read_async(request: HttpRequest, body: bytes) -> bytes:
    """Read in a thread what has such a text: who the reader is may have to be looked up."""
    return await sync_to_async(as_read_by)(request, body) if private_text.is_in(body) else body


def as_read_by(request: HttpRequest, body: bytes) -> bytes:
    """Return the body as the reader has it; DRF leaves a token and its user on Django's request."""
    if not private_text.is_in(body):
        return body
    is_admin = holds(getattr(request, "user", None), getattr(request, "auth", None), Scope.ADMIN)
    return private_text.in_body(body, is_admin=is_admin)
