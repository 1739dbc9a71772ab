"""The addresses of the API's description and of the pages that show it."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import NotAuthenticated

from panel.accounts.permissions import HasScope


class SchemaView(SpectacularAPIView):
    """The OpenAPI description, for whoever may read."""

    permission_classes = [HasScope]


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from this server's own files; its script is a second request, so the panel's CSP holds."""

    permission_classes = [HasScope]
    http_method_names = ["get", "head"]  # a page has no answer in JSON for OPTIONS
    template_name = "api/docs.html"
    url_name = "api-schema"

    def handle_exception(self, exc: Exception) -> Any:
        """Lead whoever is not logged in to the login page: people come here, not scripts."""
        if isinstance(exc, NotAuthenticated):
            return redirect_to_login(self.request.get_full_path())
        return super().handle_exception(exc)
