"""Addresses of the API of clusters, poolers and pools."""

from django.urls import URLPattern, URLResolver
from rest_framework.routers import SimpleRouter

from pools.api.clusters import ClusterViewSet
from pools.api.poolers import PoolerViewSet
from pools.api.pools import PoolViewSet

router = SimpleRouter(use_regex_path=False)
router.register("clusters", ClusterViewSet, basename="api-cluster")
router.register("poolers", PoolerViewSet, basename="api-pooler")
router.register("pools", PoolViewSet, basename="api-pool")
urlpatterns: list[URLPattern | URLResolver] = router.urls
