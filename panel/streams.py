"""Server-Sent Events: who may come in, how many fit into this web process, and the answer that carries them."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.db import close_old_connections, connections
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response

T = TypeVar("T")
COME_BACK_S = 5

_open: dict[object, int] = {}  # a key for each stream → its user's id


def have_room(user_id: int) -> bool:
    """Whether one more stream fits; one person gets at most half of them, so that a script leaves room for others."""
    users = list(_open.values())
    return len(users) < settings.STREAMS and users.count(user_id) < max(1, settings.STREAMS // 2)


class Stream:
    """A stream's text, which holds its place until Django closes it; one that was never begun, until it is forgotten.

    Closing is a thread's work in Django, counting the event loop's: each is one step on a dictionary.
    """

    def __init__(self, user_id: int, text: AsyncGenerator[bytes, None]) -> None:
        self._text = text
        key = object()
        _open[key] = user_id
        self._leave = weakref.finalize(self, _open.pop, key, None)

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self._text

    def close(self) -> None:
        """Give the place back; a second call is fine."""
        self._leave()


async def knock(door: Callable[..., Any], request: HttpRequest, **words: Any) -> Response:
    """What a view of the API answers to this request: 200 with the caller's id where they may come in."""

    def ask() -> Response:
        close_old_connections()
        try:
            answer: Response = door(request, **words).render()
            return answer
        finally:
            connections.close_all()

    answer: Response = await sync_to_async(ask, thread_sensitive=False)()
    return answer


def serve(user_id: int, text: AsyncGenerator[bytes, None], instead: str) -> HttpResponseBase:
    """The stream of a text, or 503 where no more fits, saying what to ask for `instead`."""
    if not have_room(user_id):
        detail = f"too many event streams are open: try again in {COME_BACK_S} s, or ask for {instead} meanwhile"
        return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(COME_BACK_S)})
    response = StreamingHttpResponse(Stream(user_id, text), content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold events back
    return response


async def with_pauses(events: AsyncGenerator[T, None], pause_s: float) -> AsyncGenerator[T | None, None]:
    """The events, and None after each `pause_s` without one."""
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=pause_s)
            if done and (event := coming.result()) is None:
                return
            yield event if done else None
            coming = asyncio.ensure_future(anext(events, None)) if done else coming
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError):
            await coming


async def give_up_thread() -> None:
    """End the thread that Django keeps for this request's synchronous middleware: it would idle as long as we stream.

    Each ASGI request has a thread-sensitive context, whose executor is made when it is first used; should anything
    need one again, it is made again (asgiref.sync).
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)
