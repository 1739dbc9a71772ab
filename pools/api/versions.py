"""Optimistic locking over HTTP: the version an edit was made from."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def expected_version(request: Request, values: dict[str, Any]) -> int | None:
    """Remove and return the `version` of the values, else that of `If-Match: "3"`, or None."""
    version: int | None = values.pop("version", None)
    header = request.headers.get("If-Match", "*").strip()
    if version is not None or header == "*":
        return version
    try:
        return int(header.removeprefix("W/").strip('"'))
    except ValueError as error:
        message = _("If-Match is %(header)r: send the version that you read") % {"header": header}
        raise ValidationError({"version": [message]}) from error
