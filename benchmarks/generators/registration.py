"""A worker's record of itself: its host, its engines and their files, and its round trip to each cluster."""

import logging
import os
import socket
import time

import psycopg
from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from benchmarks.engines import ENGINES
from benchmarks.errors import BenchmarksError
from benchmarks.generators import host_files
from benchmarks.models import Generator
from benchmarks.models.generators import RoundTrip
from benchmarks.targets import round_trip
from core.lib.crypto import SealBroken
from pools.clusters import endpoints
from pools.errors import PoolsError
from pools.models import Cluster

log = logging.getLogger(__name__)

CLUSTERS_A_TIME = 20  # those that runs were aimed at last; each costs one login
MEASURING_S = 20.0
_missing: dict[str, str] = {}  # engine → why it is not here, as this process has logged it


def register() -> Generator:
    """Record this worker as just started; nothing is recorded of one named as a host by SSH."""
    started_at = timezone.now()
    generator = describe()
    Generator.objects.filter(pk=generator.pk, ssh_host=None).update(started_at=started_at)
    return generator


def describe() -> Generator:
    """Update this worker's record; the first time registers it. That of a host by SSH of its name stays as it is."""
    known = Generator.objects.filter(name=settings.GENERATOR).first()
    if known and known.ssh_host_id:
        log.error("a host by SSH is named %s too: start this worker with another POOLDECK_GENERATOR", known.name)
        return known
    found = {
        "host": socket.gethostname(),
        "cores": len(os.sched_getaffinity(0)),
        "engines": engines_here(),
        "files": host_files.here(),
        "round_trips": round_trips(known.round_trips if known else {}),
        "last_seen_at": timezone.now(),
    }
    generator, _ = Generator.objects.update_or_create(name=settings.GENERATOR, defaults=found)
    return generator


def engines_here() -> dict[str, str]:
    """Return engine → version, for the engines whose program answers on this host."""
    found = {}
    for name, engine in ENGINES.items():
        try:
            program = engine.find()
        except BenchmarksError as error:
            _log_missing(name, str(error))
            continue
        _missing.pop(name, None)
        found[name] = ".".join(map(str, program.version))
    return found


def _log_missing(name: str, reason: str) -> None:
    """Log why an engine is not here; once, as a worker describes itself every few minutes."""
    if _missing.get(name) != reason:
        log.info("this generator has no %s: %s", name, reason)
        _missing[name] = reason


def round_trips(before: dict[str, RoundTrip]) -> dict[str, RoundTrip]:
    """Return cluster id → round trips; clusters not measured keep theirs."""
    clusters = Cluster.objects.annotate(run_last=Max("runs__number")).order_by("-run_last", "name")
    until = time.monotonic() + MEASURING_S
    found = {}
    for cluster in clusters[:CLUSTERS_A_TIME]:
        if time.monotonic() < until:
            found[str(cluster.pk)] = _round_trip(cluster)
    known = {str(key) for key in Cluster.objects.values_list("pk", flat=True)}
    return {key: trip for key, trip in (before | found).items() if key in known}


def _round_trip(cluster: Cluster) -> RoundTrip:
    try:
        ping = round_trip.round_trips(endpoints.of_cluster(cluster))
    except (PoolsError, SealBroken, psycopg.Error, OSError) as error:
        return {"error": str(error)}
    return {
        "count": ping["count"],
        "min_ms": ping["min_ms"],
        "avg_ms": ping["avg_ms"],
        "max_ms": ping["max_ms"],
        "connect_ms": ping["connect_ms"],
    }
