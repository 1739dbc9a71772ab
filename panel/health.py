"""Health endpoints: liveness of this process, and readiness of everything the panel needs."""

import logging
from collections.abc import Callable

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from benchmarks.errors import QueueDown
from benchmarks.generators import heartbeats
from core.accounts.access import needs
from core.lib import redis_client

logger = logging.getLogger(__name__)
ANSWER_WITHIN_S = 2


class Down(Exception):
    """A part that the panel needs is down. The message is public: it holds no address and no name."""


def database() -> None:
    """Raise `Down` unless the metadata database answers a query."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        raise Down("the metadata database does not answer") from error


def migrations() -> None:
    """Raise `Down` while migrations are not applied."""
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        raise Down("unknown while the database does not answer") from error
    if waiting:
        raise Down(f"{len(waiting)} of the migrations not applied: run manage.py migrate")


def redis_server() -> None:
    """Raise `Down` unless Redis answers PING within `ANSWER_WITHIN_S`."""
    try:
        with redis_client.opened(ANSWER_WITHIN_S) as client:
            client.ping()
    except redis_client.ERRORS as error:
        raise Down("redis does not answer") from error


def worker() -> None:
    """Raise `Down` unless workers for tasks and for runs live (`heartbeats.ALIVE_WITHIN`) and take their messages."""
    try:
        missing, stalled_s = heartbeats.missing(), heartbeats.stalled_work_s()
    except QueueDown as error:
        raise Down("unknown while redis does not answer") from error
    if missing:
        how = " and ".join(f"POOLDECK_WORKER={kind} celery -A panel worker" for kind in missing)
        raise Down(f"no worker for {' or '.join(missing)} sent a heartbeat lately: start {how}")
    if stalled_s:
        kinds, least_s = " and ".join(stalled_s), min(stalled_s.values())
        raise Down(f"the workers for {kinds} have taken no message for {least_s:.0f} s, though some wait: restart them")


def beat() -> None:
    """Raise `Down` unless beat sent a heartbeat within `heartbeats.ALIVE_WITHIN`."""
    try:
        age_s = heartbeats.ages_s()["beat"]
    except QueueDown as error:
        raise Down("unknown while redis does not answer") from error
    if age_s is None:
        raise Down("beat was never heard of: start celery -A panel beat")
    if age_s > heartbeats.ALIVE_WITHIN.total_seconds():
        raise Down(f"beat was last heard of {age_s:.0f} s ago, so nothing is checked or applied: start it again")


PARTS: dict[str, Callable[[], None]] = {
    "database": database,
    "migrations": migrations,
    "redis": redis_server,
    "worker": worker,
    "beat": beat,
}


def probe(name: str) -> str:
    """Return `ok`, or what is wrong with the part; the cause goes to the log."""
    try:
        PARTS[name]()
    except Down as down:
        logger.warning("not ready: %s: %s (%s)", name, down, down.__cause__)
        return str(down)
    return "ok"


@login_not_required
@never_cache
@require_safe
@needs("public.read")
def live(request: HttpRequest) -> HttpResponse:
    """Answer 200 while this process runs."""
    return JsonResponse({"status": "live"})


@login_not_required
@never_cache
@require_safe
@needs("public.read")
def ready(request: HttpRequest) -> HttpResponse:
    """Answer 200 `{status, parts, down: [], ages_s}` when every part works, else 503 with the names of those that are.

    `ages_s`: seconds since beat and a worker for each kind of work were heard of; empty without Redis.
    """
    parts = {name: probe(name) for name in PARTS}
    down = [name for name, found in parts.items() if found != "ok"]
    answer = {"status": "down" if down else "ready", "down": down, "parts": parts, "ages_s": _ages_s()}
    return JsonResponse(answer, status=503 if down else 200)


def _ages_s() -> dict[str, float | None]:
    try:
        return heartbeats.ages_s()
    except QueueDown:
        return {}


@never_cache
@require_safe
@needs("session.read")
def workers(request: HttpRequest) -> HttpResponse:
    """Answer the banner that every page polls: queues without a worker, and workers that take nothing.

    It is empty where all is well, or Redis is down.
    """
    try:
        missing = heartbeats.missing()
        stalled = [name for name, stalled_s in heartbeats.stalls_s().items() if stalled_s]
    except QueueDown:
        missing, stalled = [], []
    return render(request, "includes/workers.html", {"missing": missing, "stalled": ", ".join(stalled)})


urlpatterns: list[URLPattern] = [
    path("workers/", workers, name="workers"),
    path("healthz/live", live, name="healthz-live"),
    path("healthz/ready", ready, name="healthz-ready"),
]
