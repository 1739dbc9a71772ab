"""The API's description, and what is wrong with a value by its schemas."""

from functools import cache
from typing import Any

from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator, oas30_format_checker

from tests.callers import bearer


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI description, as a client reads it; made once, since that takes a second."""
    found: dict[str, Any] = bearer("read").get("/api/schema/?format=json").json()
    return found


def faults(described: dict[str, Any], schema: dict[str, Any], value: Any, *, written: bool) -> list[str]:
    """Return why a value is none of this schema; `written` for requests, which have no read-only fields."""
    validator = OAS30WriteValidator if written else OAS30ReadValidator
    whole = schema | {"components": described["components"]}
    errors = validator(whole, format_checker=oas30_format_checker).iter_errors(value)
    return [f"{'.'.join(map(str, one.absolute_path))}: {one.message}" for one in errors]
