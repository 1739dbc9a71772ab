"""Every address of the panel."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("panel.accounts.urls")),
    path("", include("pools.urls")),
    path("", include("benchmarks.urls")),
    path("api/v1/", include("pools.api.urls")),
    path("api/v1/", include("benchmarks.api.urls")),
]
