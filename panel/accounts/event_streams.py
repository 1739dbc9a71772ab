"""Server-Sent Events: who may come in and stay, how many fit into this web process, and the answer around them."""

import asyncio
import logging
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async
from django.conf import settings
from django.db import Error, close_old_connections, connections
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response

from panel.accounts import credentials
from panel.accounts.credentials import Credential

logger = logging.getLogger(__name__)
T = TypeVar("T")
COME_BACK_S = 5
REVIEW_EVERY_S = 0.9

_open: dict[object, Credential] = {}  # a key for each stream → what it was opened with
_ended: set[Credential] = set()  # of these, what holds no longer
_reviews: set[asyncio.Task[None]] = set()  # the one review of the credentials, while streams are open


def have_room(user_id: int) -> bool:
    """Whether one more stream fits; one person gets at most half of them, so that a script leaves room for others."""
    users = [one.user_id for one in list(_open.values())]
    return len(users) < settings.STREAMS and users.count(user_id) < max(1, settings.STREAMS // 2)


class Stream:
    """A stream's text, which holds its place until Django closes it; one that was never begun, until it is forgotten.

    It ends when its credential does. Closing is a thread's work in Django, counting the event loop's: each is one step
    on a dictionary.
    """

    def __init__(self, credential: Credential, text: AsyncGenerator[bytes, None]) -> None:
        self._credential, self._text = credential, text
        key = object()
        _open[key] = credential
        self._leave = weakref.finalize(self, _open.pop, key, None)

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        _begin_review()
        async with aclosing(self._text), aclosing(with_pauses(self._text, REVIEW_EVERY_S)) as chunks:
            async for chunk in chunks:
                if self._credential in _ended:
                    return
                if chunk is not None:
                    yield chunk

    def close(self) -> None:
        """Give the place back; a second call is fine."""
        self._leave()


def _begin_review() -> None:
    if not any(review.get_loop() is asyncio.get_running_loop() for review in _reviews):
        review = asyncio.create_task(_review())
        _reviews.add(review)
        review.add_done_callback(_reviews.discard)


async def _review() -> None:
    """Find out which credentials ended, of all streams at once, until none is open."""
    while _open:
        await asyncio.sleep(REVIEW_EVERY_S)
        held = set(_open.values())
        try:
            found = await sync_to_async(_in_own_connection, thread_sensitive=False)(credentials.ended, held)
        except Error as error:
            logger.warning("who may still follow event streams is not known now: %s", error)
            continue
        _ended.intersection_update(held)
        _ended.update(found)


def _in_own_connection(ask: Callable[..., T], *words: Any, **named: Any) -> T:
    """Ask the database from a thread that is not a request's."""
    close_old_connections()
    try:
        return ask(*words, **named)
    finally:
        connections.close_all()


async def authorize(authorization: Callable[..., Any], request: HttpRequest, **words: Any) -> Response:
    """What a view of the API answers to this request: 200 where they may come in."""

    def ask() -> Response:
        answer: Response = authorization(request, **words).render()
        return answer

    return await sync_to_async(_in_own_connection, thread_sensitive=False)(ask)


def serve(answer: Response, text: AsyncGenerator[bytes, None], instead: str) -> HttpResponseBase:
    """The stream of a text to whom the door's `answer` let in, or 503 where no more fits, saying what else to ask."""
    credential = Credential.of(answer.renderer_context["request"])  # type: ignore[attr-defined]
    if not have_room(credential.user_id):
        detail = f"too many event streams are open: try again in {COME_BACK_S} s, or ask for {instead} meanwhile"
        return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(COME_BACK_S)})
    response = StreamingHttpResponse(Stream(credential, text), content_type="text/event-stream; charset=utf-8")
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
