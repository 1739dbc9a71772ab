"""Middleware that serves the static files, and holds no thread for any other request."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from whitenoise.middleware import WhiteNoiseMiddleware


@sync_and_async_middleware
def static_files(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Serve a static file by WhiteNoise, which is synchronous: around it, each request would occupy a thread.

    An event stream and a request that waits would hold theirs until their end.
    """
    if not iscoroutinefunction(get_response):
        served: Callable[[HttpRequest], Any] = WhiteNoiseMiddleware(get_response)
        return served
    files = WhiteNoiseMiddleware(lambda _request: None)

    async def answer(request: HttpRequest) -> HttpResponseBase:
        is_file = request.path_info.startswith(files.static_prefix)
        response: HttpResponseBase | None = await sync_to_async(files)(request) if is_file else None
        return response if response is not None else await get_response(request)

    return answer
