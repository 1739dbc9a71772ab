"""Addresses of the managed-database API, below /v2/; none ends with a slash, as the provider's do not."""

from django.urls import URLPattern, URLResolver, path

from pools.managed_api import clusters, config, databases, unsupported, users
from pools.managed_api import pools as managed_pools

urlpatterns: list[URLPattern | URLResolver] = [
    path("account", unsupported.AccountView.as_view()),
    path("databases", clusters.ClustersView.as_view()),
    path("databases/options", clusters.OptionsView.as_view()),
    path("databases/metrics/credentials", unsupported.MetricsCredentialsView.as_view()),
    path("databases/<uuid:pk>", clusters.ClusterDetailView.as_view()),
    path("databases/<uuid:pk>/ca", clusters.CertificateView.as_view()),
    path("databases/<uuid:pk>/config", config.ConfigView.as_view()),
    path("databases/<uuid:pk>/maintenance", clusters.MaintenanceView.as_view()),
    path("databases/<uuid:pk>/resize", clusters.ResizeView.as_view()),
    path("databases/<uuid:pk>/users", users.UsersView.as_view()),
    path("databases/<uuid:pk>/users/<str:name>", users.UserView.as_view()),
    path("databases/<uuid:pk>/users/<str:name>/reset_auth", users.ResetAuthView.as_view()),
    path("databases/<uuid:pk>/dbs", databases.DatabasesView.as_view()),
    path("databases/<uuid:pk>/dbs/<str:name>", databases.DatabaseView.as_view()),
    path("databases/<uuid:pk>/pools", managed_pools.PoolsView.as_view()),
    path("databases/<uuid:pk>/pools/<str:name>", managed_pools.PoolView.as_view()),
    path("databases/<uuid:pk>/<str:word>", unsupported.UnsupportedView.as_view()),
    path("", unsupported.NothingView.as_view()),
    path("<path:rest>", unsupported.NothingView.as_view()),
]
