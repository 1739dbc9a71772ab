"""The root URL configuration."""

from django.urls import URLPattern, URLResolver, include, path

from panel.rest.docs import DocsView, SchemaView

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("panel.health")),
    path("", include("panel.metrics")),
    path("", include("panel.dashboard")),
    path("", include("panel.resume")),
    path("", include("panel.accounts.urls")),
    path("", include("pools.urls")),
    path("", include("benchmarks.urls")),
    path("api/v1/", include("panel.accounts.api")),
    path("api/v1/", include("pools.api.urls")),
    path("api/v1/", include("benchmarks.api.urls")),
    path("api/schema/", SchemaView.as_view(), name="api-schema"),
    path("api/docs/", DocsView.as_view(), name="api-docs"),
]
handler404 = "panel.rest.pagination_and_errors.page_not_found"
handler500 = "panel.rest.pagination_and_errors.server_error"
