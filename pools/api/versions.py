"""Optimistic locking over HTTP: the version an edit was made from."""

from collections.abc import Mapping

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def expected_version(request: Request, values: Mapping[str, object]) -> int | None:
    """Return the `version` of an edit's validated values, else that of `If-Match: "3"`, or None."""
    version, header = values.get("version"), request.headers.get("If-Match", "*").strip()
    if isinstance(version, int):
        return version
    if header == "*":
        return None
    try:
        return int(header.removeprefix("W/").strip('"'))
    except ValueError as error:
        message = _("If-Match is %(header)r: send the version that you read") % {"header": header}
        raise ValidationError({"version": [message]}) from error
