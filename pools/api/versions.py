"""Optimistic locking over HTTP: the version an edit was made from."""

from typing import Any

from rest_framework.exceptions import ValidationError
from rest_framework.request import Request


def expected_version(request: Request, values: dict[str, Any]) -> int | None:
    """The `version` taken out of the values, else the one of `If-Match: "3"`; None where neither is given."""
    version: int | None = values.pop("version", None)
    header = request.headers.get("If-Match", "*").strip()
    if version is not None or header == "*":
        return version
    try:
        return int(header.removeprefix("W/").strip('"'))
    except ValueError as error:
        raise ValidationError({"version": [f"If-Match is {header!r}: send the version that you read"]}) from error
