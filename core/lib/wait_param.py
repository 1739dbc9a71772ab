"""`?wait=SECONDS` of the API: answer when the change or the run has settled, or after that time.

Each request that waits holds a thread of the web process and a session of the metadata database, so there is a limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request

LONGEST_S = 60
COME_BACK_S = 5
WAIT = OpenApiParameter(
    "wait",
    float,
    description=(
        f"Answer once it has settled, or after so many seconds as it is then; at most {LONGEST_S}. "
        "503 with `Retry-After`, and nothing done, while too many requests wait"
    ),
)

_waiting: dict[object, object] = {}  # key of a request that waits → its user; each change is one atomic operation


class TooManyWait(APIException):
    """No further request may wait in this web process; DRF makes `wait` the header `Retry-After`."""

    status_code = 503
    wait = COME_BACK_S


@contextmanager
def waiting(request: Request) -> Iterator[float]:
    """Yield the seconds that the caller wants to wait (0: not at all), and hold one of the places for it.

    Enter it before anything is saved: a wrong number raises `ValidationError`, and `TooManyWait` is sent again.
    """
    seconds = _seconds_of(request)
    if not seconds:
        yield seconds
        return
    with place_of(request):
        yield seconds


@contextmanager
def place_of(request: Request) -> Iterator[None]:
    """Hold one of the places of requests that wait; one user gets half of them. Raises `TooManyWait`."""
    key, user = object(), request.user.pk
    _waiting[key] = user
    try:
        users = list(_waiting.values())
        if len(users) > settings.WAITS or users.count(user) > max(1, settings.WAITS // 2):
            text = _("too many requests wait already: try again in %(seconds)d s, or send it without wait and poll")
            raise TooManyWait(text % {"seconds": COME_BACK_S})
        yield
    finally:
        del _waiting[key]


def _seconds_of(request: Request) -> float:
    given = request.query_params.get("wait", "")
    try:
        seconds = float(given or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_S:
        text = _("%(given)r can't be waited for: send a number of seconds from 0 to %(longest)s")
        raise ValidationError({"wait": [text % {"given": given, "longest": LONGEST_S}]})
    return seconds
