"""The OpenAPI description: operations by their docstrings, bearer tokens, errors."""

import inspect
import re
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from core.accounts import reasons

ERRORS = (
    "400 `{field: [messages]}` or `{detail}`; 401 without a valid login; 403 without the scope; 404 for an unknown id; "
    "409 for an illegal transition or a stale version; 502 and 503 when a server or the queue can't be reached"
)
ERROR = {"schema": {"type": "object", "properties": {"detail": {"type": "string"}}, "additionalProperties": True}}
REASON = OpenApiParameter(
    reasons.HEADER,
    location=OpenApiParameter.HEADER,
    description=(
        f"Why, in one sentence of at most {reasons.LONGEST} characters in UTF-8, for the audit trail and the second "
        "person where one has to approve. Required, else 400, where `POOLDECK_REQUIRE_REASON` is set"
    ),
)


class Schema(AutoSchema):
    """Describes an operation by its method's docstring, whose first clause becomes the summary."""

    WRITES = {"update": "perform_update", "partial_update": "perform_update", "destroy": "perform_destroy"}

    def get_description(self) -> str:  # type: ignore[override]  # its base says None
        """Return the method's docstring, else the class's."""
        action = getattr(self.view, "action", "")
        written = getattr(type(self.view), self.WRITES.get(action, f"perform_{action}"), None)
        return (inspect.getdoc(written) if written else None) or str(super().get_description())

    def get_override_parameters(self) -> list[OpenApiParameter]:  # type: ignore[override]  # its base says nothing
        """Add the header for the reason of a destructive act."""
        action = getattr(self.view, "action", None) or self.method.lower()
        return [REASON] if reasons.destroys(self.view, action, self.method) else []

    def get_summary(self) -> str | None:
        """Return the description up to its first full stop, semicolon or colon."""
        return re.split(r"[.;:]", self.get_description(), maxsplit=1)[0] or None


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its __init_subclass__
    """Describes bearer tokens as an OpenAPI security scheme."""

    target_class = "core.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token created at /tokens/"}


def document_errors(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Add the common error response to every operation; a postprocessing hook of drf-spectacular."""
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = {"$ref": "#/components/responses/Error"}
    result["components"]["responses"] = {"Error": {"description": ERRORS, "content": {"application/json": ERROR}}}
    return result


def allow_null(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Let nullable references be null; a postprocessing hook of drf-spectacular.

    It marks the `allOf` around the reference as nullable, which allows no null that the referenced schema refuses
    (OpenAPI 3.0.3, "Clarify Semantics of nullable").
    """
    schemas = result["components"]["schemas"]
    schemas["NullEnum"] = {"enum": [None]}
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            if field.get("nullable") and "allOf" in field:
                field["oneOf"] = [*field.pop("allOf"), {"$ref": "#/components/schemas/NullEnum"}]
    return result
