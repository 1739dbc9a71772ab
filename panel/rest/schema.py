"""How drf-spectacular describes the API: operations in the words of their docstrings, tokens, errors."""

import inspect
import re
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

ERRORS = (
    "400 `{field: [messages]}` or `{detail}`; 401 without a valid login; 403 without the scope; 404 for an unknown id; "
    "409 for an illegal transition or a stale version; 502 and 503 when a server or the queue can't be reached"
)
ERROR = {"schema": {"type": "object", "properties": {"detail": {"type": "string"}}, "additionalProperties": True}}


class Schema(AutoSchema):
    """Takes what an operation does from the docstring of the method that does it, its summary from the first words."""

    WRITES = {"update": "perform_update", "partial_update": "perform_update", "destroy": "perform_destroy"}

    def get_description(self) -> str:  # type: ignore[override]  # its base says None
        """The method's docstring, else the class's."""
        action = getattr(self.view, "action", "")
        written = getattr(type(self.view), self.WRITES.get(action, f"perform_{action}"), None)
        return (inspect.getdoc(written) if written else None) or str(super().get_description())

    def get_summary(self) -> str | None:
        """Up to the first stop of the description."""
        return re.split(r"[.;:]", self.get_description(), maxsplit=1)[0] or None


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its __init_subclass__
    """How the description names bearer tokens."""

    target_class = "panel.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """The OpenAPI security scheme."""
        return {"type": "http", "scheme": "bearer", "description": "A token made at /tokens/"}


def document_errors(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Tell of every operation what its errors look like; a hook of drf-spectacular."""
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = {"$ref": "#/components/responses/Error"}
    result["components"]["responses"] = {"Error": {"description": ERRORS, "content": {"application/json": ERROR}}}
    return result
