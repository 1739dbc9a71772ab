"""`/metrics` for Prometheus: the pools of every pooler, and the panel's own counts."""

import time
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats
from benchmarks.models import Run
from core.accounts.access import Access
from pools.models import Entry, Event, Pool, Pooler, Revision
from pools.monitoring import health, prometheus, refused_logins, sampler
from pools.monitoring.redis_store import SharingDown
from pools.poolers import kinds_that

FRESH_S = 15.0  # a worker polls each console every ten seconds; of one whose answer is older, the next scrape has news
FIRST_S = 0.25  # how long a scrape waits for consoles of which nothing is known yet, as after a start


class StreamAuthorization(APIView):
    """Authorizes a scrape by the rules of the API."""

    operations = {"get": "metrics.read"}

    def get(self, request: Request) -> Response:
        """Answer 200 where the caller holds the scope `read`, else 401 or 403."""
        return Response()

    def perform_content_negotiation(self, request: Request, force: bool = True) -> tuple[BaseRenderer, str]:
        """Answer refusals as JSON, also to Prometheus, which accepts its own format only."""
        return super().perform_content_negotiation(request, force=True)


_authorization = StreamAuthorization.as_view()
WAITING_TEXT = "1 for a pool or an entry whose clients wait; saturated: while all its servers are in use"
WAITING_POOLER_TEXT = "1 for a pooler with clients that wait; saturated: in a pool whose servers are all in use"
STALLED_TEXT = "Seconds for which a live worker has taken no message although some wait for it, 0 if it takes them"
REFUSED_TEXT = "Logins that it or its servers refused within a minute, by its log; none where that is not read"
Rows = TypeVar("Rows", bound=QuerySet[Any])


class PanelCollector(Collector):
    """All metrics of one scrape, of what its caller may see."""

    def __init__(self, access: Access | None) -> None:
        """Count what this access sees; None is an address that needs no token, and sees all."""
        self._access = access

    def _visible(self, rows: Rows) -> Rows:
        return rows if self._access is None else self._access.visible(rows)

    def of_poolers(self) -> Iterator[bytes]:
        """Yield the metrics of poolers, by the last known answer of each console: a scrape waits for none of them."""
        exporting = self._visible(Pooler.objects.filter(kind__in=kinds_that("exports_metrics")))
        poolers = list(exporting.only("name", "version", "server_version"))
        answers, now = sampler.last_answers(poolers), time.time()
        old = [one for one in poolers if one.pk not in answers or now - answers[one.pk].at > FRESH_S]
        polled = sampler.poll_in_background(exporting.filter(pk__in=[one.pk for one in old]) if old else ())
        if unknown := [one for one in old if one.pk not in answers]:
            wait(polled, FIRST_S)
            answers |= sampler.last_answers(unknown)
        yield from prometheus.exposition(((one, answers.get(one.pk)) for one in poolers), now)

    def collect(self) -> Iterator[Metric]:
        """Yield the panel's own metrics."""
        yield _counted("pooldeck_runs", "Runs by status", "status", self._visible(Run.objects.top_level().order_by()))
        yield _counted("pooldeck_applies", "Revisions by state", "state", self._visible(Revision.objects.order_by()))
        yield _counted("pooldeck_pools", "Pools by state", "state", self._visible(Pool.objects.wanted().order_by()))
        yield from self._waiting()
        yield self._refused_logins()
        yield _counted(
            "pooldeck_events_open", "Open events by kind", "kind", self._visible(Event.objects.ongoing().order_by())
        )
        yield _stalled_workers()

    def _waiting(self) -> Iterator[Metric]:
        """Yield a line for each pool, entry and pooler whose clients wait by the newest sample, and none for others."""
        queues = health.waiting_queues()
        pools, entries = self._visible(Pool.objects.wanted()), self._visible(Entry.objects.unmanaged())
        family = GaugeMetricFamily("pooldeck_pool_health", WAITING_TEXT, labels=["pooler", "pool", "health"])
        for pool, found in health.waiting_of(pools, queues):
            family.add_metric([pool.pooler.name, pool.name, found.value], 1)
        for entry, found in health.waiting_of(entries, queues):
            family.add_metric([entry.pooler.name, entry.name, found.value], 1)
        yield family
        poolers = self._visible(Pooler.objects.filter(pk__in=list(queues))) if queues else ()
        family = GaugeMetricFamily("pooldeck_pooler_health", WAITING_POOLER_TEXT, labels=["pooler", "health"])
        names = {pooler.pk: pooler.name for pooler in poolers}
        for pk, known in health.of_poolers(poolers).items():
            family.add_metric([names[pk], known.health.value], 1)
        yield family

    def _refused_logins(self) -> Metric:
        """Return a line for each pooler whose log is read, as it was counted last; none without Redis."""
        family = GaugeMetricFamily("pooldeck_pooler_refused_logins", REFUSED_TEXT, labels=["pooler"])
        poolers = list(self._visible(Pooler.objects.managed().only("name", "kind", "config_dir", "delivery")))
        with suppress(SharingDown):
            found = refused_logins.of(poolers)
            for pooler in poolers:
                if not found[pooler.pk].unknown:
                    family.add_metric([pooler.name], found[pooler.pk].per_minute)
        return family


def _stalled_workers() -> Metric:
    """Return a line for each live worker, as its heartbeats told; none without Redis."""
    family = GaugeMetricFamily("pooldeck_worker_stalled_seconds", STALLED_TEXT, labels=["worker"])
    with suppress(QueueDown):
        for worker, stalled_s in heartbeats.stalls_s().items():
            family.add_metric([worker], stalled_s)
    return family


def _counted(
    name: str, text: str, field: str, rows: QuerySet[Run] | QuerySet[Revision] | QuerySet[Pool] | QuerySet[Event]
) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[field])
    for value, count in rows.values_list(field).annotate(Count("pk")):
        family.add_metric([value], count)
    return family


@login_not_required  # a token with the scope `read`, a login, or an address of POOLDECK_METRICS_ALLOW
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponseBase:
    """Answer all metrics in Prometheus's text format, of poolers by their last known answers, with the age of each."""
    access = None
    if not _is_allowed(request.META.get("REMOTE_ADDR", "")):
        answer = _authorization(request)
        if answer.status_code != 200:
            refusal: HttpResponseBase = answer.render()
            return refusal
        access = Access.of(answer.renderer_context["request"])  # type: ignore[attr-defined]
    registry = CollectorRegistry(auto_describe=False)
    collector = PanelCollector(access)
    registry.register(collector)
    text = b"".join([*collector.of_poolers(), generate_latest(registry)])
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def _is_allowed(address: str) -> bool:
    """Tell whether this client address (behind a proxy that is not trusted: the proxy's) needs no token."""
    try:
        return any(ip_address(address) in network for network in settings.METRICS_ALLOW)
    except ValueError:
        return False  # a Unix socket has none


metrics.operations = {"get": "metrics.read"}  # type: ignore[attr-defined]  # that of its authorization
urlpatterns: list[URLPattern] = [path("metrics", metrics, name="metrics")]
