"""Headers of every response."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

# No page uses any of these, so an injected script can't either.
UNUSED_FEATURES = (
    "accelerometer camera display-capture geolocation gyroscope magnetometer microphone midi payment usb "
    "screen-wake-lock serial bluetooth hid"
)
PERMISSIONS_POLICY = ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES.split())


def response_headers(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Add the headers."""
    return lambda request: with_headers(request, get_response(request))


def with_headers(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Add the headers; nothing is kept by a browser or a proxy but what a view or WhiteNoise says may be.

    Pages show records that the next user of the browser may not see, and answers of the API may hold a password.
    """
    response.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
    response.setdefault("Cache-Control", "no-store")
    if not request.path.startswith(settings.STATIC_URL):
        patch_vary_headers(response, ["HX-Request"])
    return response
