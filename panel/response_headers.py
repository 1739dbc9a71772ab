"""Headers that every answer of the panel carries."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

# No page uses any of these: neither does a script that got into one.
UNUSED_FEATURES = (
    "accelerometer camera display-capture geolocation gyroscope magnetometer microphone midi payment usb "
    "screen-wake-lock serial bluetooth hid"
)
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES.split())


@sync_and_async_middleware
def response_headers(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Middleware of both kinds, so that event streams need no thread for it."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            return with_headers(request, await get_response(request))

        return answer_async
    return lambda request: with_headers(request, get_response(request))


def with_headers(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """The answer, which no cache keeps where the API gave it or a form was sent: a password may stand in it.

    Nor is a part of a page kept, which the browser's Back would show in the place of the whole.
    """
    response.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
    is_part = "HX-Request" in request.headers
    if request.path.startswith(("/api/", "/v2/")) or request.method == "POST" or is_part:
        response.setdefault("Cache-Control", "no-store")
    if not request.path.startswith(settings.STATIC_URL):
        patch_vary_headers(response, ["HX-Request"])
    return response
