"""The parameter `?wait=SECONDS` of the API: answer when the change or the run has settled, or after that time."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

LONGEST_S = 60
WAIT = OpenApiParameter(
    "wait",
    float,
    description=(
        f"Answer once it has settled, or after so many seconds as it is then; at most {LONGEST_S}. With `Retry-After`, "
        "and nothing done: 429 while too many requests of the caller are held open, 503 while too many of all callers "
        "are"
    ),
)


def seconds_of(request: Request) -> float:
    """Return the seconds that the caller wants to wait, 0 for not at all. Raises `ValidationError`."""
    given = request.query_params.get("wait", "")
    try:
        seconds = float(given or 0)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_S:
        text = _("%(given)r can't be waited for: send a number of seconds from 0 to %(longest)s")
        raise ValidationError({"wait": [text % {"given": given, "longest": LONGEST_S}]})
    return seconds
