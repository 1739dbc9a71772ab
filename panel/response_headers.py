"""Headers of every response."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

# No page uses any of these, so an injected script can't either.
UNUSED_FEATURES = (
    "accelerometer camera display-capture geolocation gyroscope magnetometer microphone midi payment usb "
    "screen-wake-lock serial bluetooth hid"
)
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES.split())


@sync_and_async_middleware
def response_headers(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Add the headers; sync and async middleware, so that event streams need no thread for it."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            return with_headers(request, await get_response(request))

        return answer_async
    return lambda request: with_headers(request, get_response(request))


def with_headers(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Add the headers; responses of the API and to forms are not cached, since they may hold a password.

    Parts of pages are not cached either: the browser's Back would show the part in place of the page.
    """
    response.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
    is_part = "HX-Request" in request.headers
    if request.path.startswith(("/api/", "/v2/")) or request.method == "POST" or is_part:
        response.setdefault("Cache-Control", "no-store")
    if not request.path.startswith(settings.STATIC_URL):
        patch_vary_headers(response, ["HX-Request"])
    return response
