"""Views of the OpenAPI description and of the page that shows it."""

from typing import Any

from django.contrib.auth.views import redirect_to_login
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.exceptions import NotAuthenticated

from core.accounts.permissions import HasScope


class SchemaView(SpectacularAPIView):
    """The OpenAPI description; needs the scope `read`."""

    permission_classes = [HasScope]
    operations = {"get": "help.read"}


class DocsView(SpectacularSwaggerSplitView):
    """Swagger UI from this server's own files. Its script is a second request, as the panel's CSP demands."""

    permission_classes = [HasScope]
    operations = {"get": "help.read"}
    http_method_names = ["get", "head"]  # a page has no answer in JSON for OPTIONS
    template_name = "api/docs.html"
    url_name = "api-schema"

    def handle_exception(self, exc: Exception) -> Any:  # noqa: ANN401 (a redirect too, which the stubs leave out)
        """Redirect anonymous visitors to the login, because people open this page, not scripts."""
        if isinstance(exc, NotAuthenticated):
            return redirect_to_login(self.request.get_full_path())
        return super().handle_exception(exc)
