"""The root URL configuration."""

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.cache import cache_control
from django.views.i18n import JavaScriptCatalog

from core.accounts.access import needs
from panel.api_docs import DocsView, SchemaView

CATALOG_KEPT_S = 3600  # time for which browsers keep it
catalog = cache_control(public=True, max_age=CATALOG_KEPT_S)(JavaScriptCatalog.as_view())

# One after the other is tried: those with a prefix come first, each of which costs one comparison.
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include("core.accounts.api")),
    path("api/v1/", include("pools.api.urls")),
    path("api/v1/", include("benchmarks.api.urls")),
    path("v2/", include("pools.managed_api.urls")),
    path("api/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/docs/", DocsView.as_view(), name="api-docs"),
    path("texts.js", needs("public.read")(login_not_required(catalog)), name="javascript-catalog"),
    path("", include("panel.health")),
    path("", include("panel.metrics")),
    path("", include("panel.help")),
    path("", include("panel.dashboard")),
    path("", include("panel.resume")),
    path("", include("core.accounts.urls")),
    path("", include("pools.urls")),
    path("", include("benchmarks.urls")),
]
handler400 = "panel.error_pages.bad_request"
handler404 = "panel.error_pages.page_not_found"
handler500 = "panel.error_pages.server_error"
