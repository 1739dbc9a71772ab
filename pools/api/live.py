"""The current figures of a pool or a pooler as Server-Sent Events: one event per second, and marks as they come."""

import json
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from core.accounts import event_streams
from core.accounts.access import Access, find
from core.accounts.event_streams import Authorization, StreamView
from pools.models import Entry, Pool, Pooler
from pools.monitoring import live_feed, marks, rates
from pools.monitoring.marks import Latest, Mark
from pools.monitoring.rates import Reading
from pools.monitoring.sampler import ConsoleSnapshot
from pools.monitoring.windows import RANGES, Window
from pools.poolers import KINDS

HEARTBEAT_S = 15.0
NOTICED_S = 75.0  # A check notices a restart so late.


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


def _marks_of_pool(pk: UUID, access: Access, window: Window) -> list[Mark]:
    return [one for pool in Pool.objects.filter(pk=pk) for one in marks.of_pool(pool, access, window)]


def _marks_of_entry(pk: UUID, access: Access, window: Window) -> list[Mark]:
    return [one for entry in Entry.objects.filter(pk=pk) for one in marks.of_entry(entry, access, window)]


def _marks_of_pooler(pk: UUID, access: Access, window: Window) -> list[Mark]:
    return [one for pooler in Pooler.objects.filter(pk=pk) for one in marks.of_pooler(pooler, access, window)]


MARKED = {"pool": _marks_of_pool, "entry": _marks_of_entry, "pooler": _marks_of_pooler}
_views = {
    "pool": PoolStreamView.as_view(),
    "entry": EntryStreamView.as_view(),
    "pooler": PoolerStreamView.as_view(),
}


@login_not_required  # the authorization view requires a token or a session, and answers as an API does
def pool_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream a pool's figures each second, as `event: figures` (GET)."""
    return _answer(request, pk, "pool")


@login_not_required
def entry_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream an entry's figures each second (GET)."""
    return _answer(request, pk, "entry")


@login_not_required
def pooler_figures(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Stream the figures of all pools of a pooler together each second (GET)."""
    return _answer(request, pk, "pooler")


for _noun, _stream_view in (("pool", pool_figures), ("entry", entry_figures), ("pooler", pooler_figures)):
    _stream_view.operations = {"get": f"{_noun}.view"}  # type: ignore[attr-defined]  # that of its authorization


def _answer(request: HttpRequest, pk: UUID, noun: str) -> HttpResponseBase:
    authorization = Authorization(_views[noun], request, pk=pk)
    answer = authorization.ask()
    if answer.status_code != 200:
        return answer
    pooler_id, kind, name = answer.data
    news = MarkNews(authorization, noun, pk, _moment(request.GET.get("marks", "")) - NOTICED_S)
    return event_streams.serve(authorization, _stream(authorization, pooler_id, kind, name, news), instead="history/")


def _moment(text: str) -> float:
    """Return the time that `?marks=` names: marks that came later are sent; without it none are."""
    try:
        return float(text)
    except ValueError:
        return math.inf


@dataclass
class MarkNews:
    """The marks that a follower has not got yet: those after `since` (Unix, s; infinite: none), then all that come."""

    authorization: Authorization
    noun: str
    pk: UUID
    since: float
    seen: Latest | None = None

    async def text(self, latest: Latest) -> bytes:
        """Return an event with the marks of the last hour, if one of them is new; those before it come again."""
        is_new = latest.at > self.since if self.seen is None else latest != self.seen
        self.seen = latest
        if math.isinf(self.since) or not is_new:
            return b""
        rows = await self.authorization.read_anew(self._rows)
        text = json.dumps({"at": latest.at, "marks": rows or []}, separators=(",", ":"))
        return f"event: marks\ndata: {text}\n\n".encode()

    def _rows(self, access: Access) -> list[dict[str, object]]:
        return marks.as_rows(MARKED[self.noun](self.pk, access, RANGES["hour"].window()))


async def _stream(
    authorization: Authorization, pooler_id: UUID, kind: str, name: str | None, news: MarkNews
) -> AsyncGenerator[bytes, None]:
    """Yield the text of the stream until the pooler is removed or the follower's access ends."""
    yield b"retry: 2000\n\n"
    sent = 0
    async with aclosing(live_feed.follow(pooler_id)) as snapshots:
        async for snapshot, latest in snapshots:
            sent += 1
            if sent % int(HEARTBEAT_S) == 0 and not await authorization.still_holds():
                return
            text = json.dumps(payload(snapshot, kind, name), allow_nan=False, separators=(",", ":"))
            yield f"event: figures\ndata: {text}\n\n".encode()
            if text_of_marks := await news.text(latest):
                yield text_of_marks


def payload(snapshot: ConsoleSnapshot, kind: str, name: str | None) -> dict[str, object]:
    """Return `{t, error, …every figure}` of a pool, or of all pools without a name; an error replaces the figures.

    A figure that the kind of pooler does not count is None.
    """
    if snapshot.error:
        return {"t": snapshot.at, "error": snapshot.error}
    reading: Reading = snapshot.reading(name) if name is not None else snapshot.whole()
    return {"t": snapshot.at, "error": "", **rates.without_uncounted(reading, KINDS[kind].uncounted)}
