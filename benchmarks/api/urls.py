"""URLs of the benchmark API."""

from django.urls import URLPattern, URLResolver, path
from rest_framework.routers import SimpleRouter

from benchmarks.api.ceilings import CeilingViewSet
from benchmarks.api.comparisons import comparisons
from benchmarks.api.engines import EngineViewSet
from benchmarks.api.entries import EntryEndpointView
from benchmarks.api.events import run_events
from benchmarks.api.experiments import ExperimentViewSet, PoolSizeView
from benchmarks.api.external import ExternalEndpointViewSet
from benchmarks.api.generators import GeneratorViewSet
from benchmarks.api.playbooks import PlaybookViewSet
from benchmarks.api.profiles import ProfileViewSet
from benchmarks.api.runs import RunViewSet
from benchmarks.api.schedules import ScheduleViewSet
from benchmarks.api.scripts import ScriptViewSet
from benchmarks.api.shared_links import SharedLinkViewSet

router = SimpleRouter(use_regex_path=False)
router.register("runs", RunViewSet, basename="api-run")
router.register("external-endpoints", ExternalEndpointViewSet, basename="api-external-endpoint")
router.register("schedules", ScheduleViewSet, basename="api-schedule")
router.register("scripts", ScriptViewSet, basename="api-script")
router.register("settings-profiles", ProfileViewSet, basename="api-settings-profile")
router.register("ceilings", CeilingViewSet, basename="api-ceiling")
router.register("engines", EngineViewSet, basename="api-engine")
router.register("generators", GeneratorViewSet, basename="api-generator")
router.register("playbooks", PlaybookViewSet, basename="api-playbook")
router.register("shared-links", SharedLinkViewSet, basename="api-shared-link")
router.register("experiments", ExperimentViewSet, basename="api-experiment")
urlpatterns: list[URLPattern | URLResolver] = [
    path("advice/pool-size/", PoolSizeView.as_view(), name="api-advice-pool-size"),
    path("entries/<uuid:pk>/endpoint/", EntryEndpointView.as_view(), name="api-entry-endpoint"),
    path("comparisons/", comparisons, name="api-comparisons"),
    path("runs/<uuid:pk>/events/", run_events, name="api-run-events"),
    *router.urls,
]
