"""Addresses of the API of clusters, poolers and pools."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from pools.api import live
from pools.api.approvals import ApprovalViewSet
from pools.api.channels import ChannelViewSet
from pools.api.clusters import ClusterViewSet
from pools.api.entries import EntryViewSet
from pools.api.events import EventViewSet
from pools.api.history import EntryHistoryView, PoolerHistoryView, PoolHistoryView
from pools.api.hosts import HostViewSet
from pools.api.poolers import PoolerViewSet
from pools.api.pools import PoolViewSet
from pools.api.shelf import ShelfViewSet
from pools.api.thresholds import ThresholdViewSet

router = SimpleRouter(use_regex_path=False)
router.register("clusters", ClusterViewSet, basename="api-cluster")
router.register("approvals", ApprovalViewSet, basename="api-approval")
router.register("poolers", PoolerViewSet, basename="api-pooler")
router.register("hosts", HostViewSet, basename="api-host")
router.register("pools", PoolViewSet, basename="api-pool")
router.register("entries", EntryViewSet, basename="api-entry")
router.register("shelf", ShelfViewSet, basename="api-shelf")
router.register("events/thresholds", ThresholdViewSet, basename="api-threshold")
router.register("events/channels", ChannelViewSet, basename="api-channel")
router.register("events", EventViewSet, basename="api-event")
urlpatterns: list[URLPattern | URLResolver] = [
    path("pools/<uuid:pk>/history/", PoolHistoryView.as_view(), name="api-pool-history"),
    path("pools/<uuid:pk>/live/", live.pool_figures, name="api-pool-live"),
    path("entries/<uuid:pk>/history/", EntryHistoryView.as_view(), name="api-entry-history"),
    path("entries/<uuid:pk>/live/", live.entry_figures, name="api-entry-live"),
    path("poolers/<uuid:pk>/history/", PoolerHistoryView.as_view(), name="api-pooler-history"),
    path("poolers/<uuid:pk>/live/", live.pooler_figures, name="api-pooler-live"),
    *router.urls,
]
