"""Addresses of the pages of clusters, poolers and pools."""

from django.urls import URLPattern, URLResolver, path

from pools.views import clusters, live, poolers, pools

urlpatterns: list[URLPattern | URLResolver] = [
    path("clusters/", clusters.cluster_list, name="cluster-list"),
    path("clusters/new/", clusters.cluster_create, name="cluster-create"),
    path("clusters/<uuid:pk>/", clusters.cluster_detail, name="cluster-detail"),
    path("clusters/<uuid:pk>/edit/", clusters.cluster_edit, name="cluster-edit"),
    path("clusters/<uuid:pk>/delete/", clusters.cluster_delete, name="cluster-delete"),
    path("clusters/<uuid:pk>/check/", clusters.cluster_check, name="cluster-check"),
    path("clusters/<uuid:pk>/connection/", clusters.cluster_connection, name="cluster-connection"),
    path("poolers/", poolers.pooler_list, name="pooler-list"),
    path("poolers/new/", poolers.pooler_create, name="pooler-create"),
    path("poolers/<uuid:pk>/", poolers.pooler_detail, name="pooler-detail"),
    path("poolers/<uuid:pk>/edit/", poolers.pooler_edit, name="pooler-edit"),
    path("poolers/<uuid:pk>/delete/", poolers.pooler_delete, name="pooler-delete"),
    path("poolers/<uuid:pk>/check/", poolers.pooler_check, name="pooler-check"),
    path("poolers/<uuid:pk>/apply/", poolers.pooler_apply, name="pooler-apply"),
    path("poolers/<uuid:pk>/live/", live.pooler_live, name="pooler-live"),
    path("pools/", pools.pool_list, name="pool-list"),
    path("pools/new/", pools.pool_create, name="pool-create"),
    path("pools/choices/", pools.pool_choices, name="pool-choices"),
    path("pools/<uuid:pk>/", pools.pool_detail, name="pool-detail"),
    path("pools/<uuid:pk>/edit/", pools.pool_edit, name="pool-edit"),
    path("pools/<uuid:pk>/delete/", pools.pool_delete, name="pool-delete"),
    path("pools/<uuid:pk>/retry/", pools.pool_retry, name="pool-retry"),
    path("pools/<uuid:pk>/connection/", pools.pool_connection, name="pool-connection"),
    path("pools/<uuid:pk>/live/", live.pool_live, name="pool-live"),
]
