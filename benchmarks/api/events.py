"""A run's events as a stream (Server-Sent Events): history first, then live, until the end."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from uuid import UUID

from asgiref.sync import SyncToAsync, sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.db import close_old_connections, connections
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.generics import get_object_or_404
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from benchmarks import live
from benchmarks.api import watchers
from benchmarks.models import Run

HEARTBEAT_S = 15.0
COME_BACK_S = 5


class Door(APIView):
    """Who may watch a run, by the same rules as the rest of the API."""

    @extend_schema(exclude=True)
    def get(self, request: Request, pk: UUID) -> Response:
        """The caller's id where they may; else 401, 403 or 404 with its reason."""
        get_object_or_404(Run.objects.only("pk"), pk=pk)
        return Response(request.user.pk)

    def perform_content_negotiation(self, request: Request, force: bool = True) -> tuple[BaseRenderer, str]:
        """JSON for refusals, also to an EventSource, which asks for nothing but an event stream."""
        return super().perform_content_negotiation(request, force=True)


_door = Door.as_view()


@login_not_required  # the door asks for a token or a session, and answers as an API does
async def run_events(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """GET: the events after `Last-Event-ID` or `?after=`, each with its id; a watcher costs no thread."""
    answer = await _knock(request, pk)
    if answer.status_code != 200:
        return answer
    after = request.headers.get("Last-Event-ID") or request.GET.get("after") or live.BEGINNING
    if live.position(after)[1] == live.END_SEQ:
        return HttpResponse(status=204)  # the whole run was seen: tells an EventSource not to come back
    if not watchers.have_room(answer.data):
        detail = f"too many event streams are open: try again in {COME_BACK_S} s, or ask for samples/ meanwhile"
        return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(COME_BACK_S)})
    stream = watchers.Stream(answer.data, _stream(request, pk, after))
    response = StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold events back
    return response


async def _knock(request: HttpRequest, pk: UUID) -> Response:
    answer: Response = await sync_to_async(_ask, thread_sensitive=False)(request, pk)
    return answer


def _ask(request: HttpRequest, pk: UUID) -> Response:
    close_old_connections()
    try:
        answer: Response = _door(request, pk=pk).render()
        return answer
    finally:
        connections.close_all()


async def _stream(request: HttpRequest, pk: UUID, after: str) -> AsyncGenerator[bytes, None]:
    """The wire's text; ends with the run, or when the watcher may not watch any longer."""
    await _give_up_thread()
    told_state = b""
    yield b"retry: 1000\n\n"
    async with aclosing(live.follow(pk, after)) as events, aclosing(_with_pauses(events)) as coming:
        async for event in coming:
            if event is None:
                if (await _knock(request, pk)).status_code != 200:
                    return
                yield b": still here\n\n" + told_state  # browsers' scripts see events only, no comments
                continue
            if event.name == "state":
                told_state = _wire(event)
            yield _wire(event)


async def _with_pauses(events: AsyncGenerator[live.Event, None]) -> AsyncGenerator[live.Event | None, None]:
    """The events, and None after each HEARTBEAT_S without one."""
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=HEARTBEAT_S)
            if done and (event := coming.result()) is None:
                return
            yield event if done else None
            coming = asyncio.ensure_future(anext(events, None)) if done else coming
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError):
            await coming


def _wire(event: live.Event) -> bytes:
    text = json.dumps(event.payload, allow_nan=False, separators=(",", ":"))
    return f"id: {event.id}\nevent: {event.name}\ndata: {text}\n\n".encode()


async def _give_up_thread() -> None:
    """End the thread that Django keeps for this request's synchronous middleware: it would idle as long as we stream.

    Each ASGI request has a thread-sensitive context, whose executor is made when it is first used; should anything
    need one again, it is made again (asgiref.sync).
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)
