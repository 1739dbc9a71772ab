"""The current figures of a pool or a pooler as Server-Sent Events: one event per second."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts import event_streams
from core.accounts.access import find
from core.accounts.event_streams import Authorization, StreamView
from pools.models import Entry, Pool, Pooler
from pools.monitoring import live_feed, rates
from pools.monitoring.rates import Reading
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS

HEARTBEAT_S = 15.0


class PoolStreamView(StreamView):
    """Authorizes the stream of a pool."""

    operations = {"get": "pool.view"}

    @extend_schema(exclude=True)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the pooler, its kind, and the pool's name there; else 401, 403 or 404."""
        pool = find(request, Pool.objects.select_related("pooler").only("name", "pooler__kind"), pk=pk)
        return Response((pool.pooler_id, pool.pooler.kind, pool.name))


class EntryStreamView(StreamView):
    """Authorizes the stream of an entry."""

    operations = {"get": "entry.view"}

    @extend_schema(exclude=True)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the pooler, its kind, and the entry's name there; else 401, 403 or 404."""
        entry = find(request, Entry.objects.select_related("pooler").only("name", "pooler__kind"), pk=pk)
        return Response((entry.pooler_id, entry.pooler.kind, entry.name))


class PoolerStreamView(StreamView):
    """Authorizes the stream of a pooler."""

    operations = {"get": "pooler.view"}

    @extend_schema(exclude=True)
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the pooler and its kind; else 401, 403 or 404."""
        pooler = find(request, Pooler.objects.only("kind"), pk=pk)
        return Response((pk, pooler.kind, None))


_views = {
    "pool": PoolStreamView.as_view(),
    "entry": EntryStreamView.as_view(),
    "pooler": PoolerStreamView.as_view(),
}


@login_not_required  # the authorization view requires a token or a session, and answers as an API does
def pool_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream a pool's figures each second, as `event: figures` (GET)."""
    return _answer(request, pk, _views["pool"])


@login_not_required
def entry_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream an entry's figures each second (GET)."""
    return _answer(request, pk, _views["entry"])


@login_not_required
def pooler_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream the figures of all pools of a pooler together each second (GET)."""
    return _answer(request, pk, _views["pooler"])


for _noun, _stream_view in (("pool", pool_figures), ("entry", entry_figures), ("pooler", pooler_figures)):
    _stream_view.operations = {"get": f"{_noun}.view"}  # type: ignore[attr-defined]  # that of its authorization


def _answer(request: HttpRequest, pk: UUID, view: Callable[..., Any]) -> HttpResponseBase:
    authorization = Authorization(view, request, pk=pk)
    answer = authorization.ask()
    if answer.status_code != 200:
        return answer
    pooler_id, kind, name = answer.data
    return event_streams.serve(authorization, _stream(authorization, pooler_id, kind, name), instead="history/")


async def _stream(
    authorization: Authorization, pooler_id: UUID, kind: str, name: str | None
) -> AsyncGenerator[bytes, None]:
    """Yield the text of the stream until the pooler is removed or the follower's access ends."""
    yield b"retry: 2000\n\n"
    sent = 0
    async with aclosing(live_feed.follow(pooler_id)) as snapshots:
        async for snapshot in snapshots:
            sent += 1
            if sent % int(HEARTBEAT_S) == 0 and not await authorization.still_holds():
                return
            text = json.dumps(payload(snapshot, kind, name), allow_nan=False, separators=(",", ":"))
            yield f"event: figures\ndata: {text}\n\n".encode()


def payload(snapshot: ConsoleSnapshot, kind: str, name: str | None) -> dict[str, object]:
    """Return `{t, error, …every figure}` of a pool, or of all pools without a name; an error replaces the figures.

    A figure that the kind of pooler does not count is None.
    """
    if snapshot.error:
        return {"t": snapshot.at, "error": snapshot.error}
    reading: Reading = snapshot.reading(name) if name is not None else snapshot.whole()
    return {"t": snapshot.at, "error": "", **rates.without_uncounted(reading, KINDS[kind].uncounted)}
