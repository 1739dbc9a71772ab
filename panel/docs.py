"""The API's description and the pages that show it."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import NotAuthenticated

from panel.accounts.permissions import HasScope

ERRORS = (
    "400 `{field: [messages]}` or `{detail}`; 401 without a valid login; 403 without the scope; 404 for an unknown id; "
    "409 for an illegal transition or a stale version; 502 and 503 when a server or the queue can't be reached"
)
ERROR = {"schema": {"type": "object", "properties": {"detail": {"type": "string"}}, "additionalProperties": True}}


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


class SchemaView(SpectacularAPIView):
    """The OpenAPI description, for whoever may read."""

    permission_classes = [HasScope]


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from this server's own files; its script is a second request, so the panel's CSP holds."""

    permission_classes = [HasScope]
    template_name = "api/docs.html"
    url_name = "api-schema"

    def handle_exception(self, exc: Exception) -> Any:
        """Lead whoever is not logged in to the login page: people come here, not scripts."""
        if isinstance(exc, NotAuthenticated):
            return redirect_to_login(self.request.get_full_path())
        return super().handle_exception(exc)
