"""Server-Sent Events: authorization, the end of the credential, and the HTTP response."""

import asyncio
import logging
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from asgiref.sync import SyncToAsync, sync_to_async
from django.db import Error, close_old_connections, connections
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework.response import Response

from core.accounts import credentials, held_requests
from core.accounts.credentials import Credential
from core.accounts.held_requests import COME_BACK_S, OpenRequest, TooManyHeld
from core.lib import draining

logger = logging.getLogger(__name__)
T = TypeVar("T")
REVIEW_EVERY_S = 0.9

_open: dict[object, Credential] = {}  # key of a stream → the credential that opened it
_ended: set[Credential] = set()  # those of _open that are no longer valid
_reviews: set[asyncio.Task[None]] = set()  # the task that reviews credentials while streams are open


def _close(key: object) -> None:
    _open.pop(key, None)
    held_requests.leave(key)


class Stream:
    """The body of a stream. It counts as open until Django closes it or, if never started, until it is collected.

    Making one raises `TooManyHeld` where no more fits.

    It ends when its credential does, and when the process was asked to end: its viewer then opens it again, at another
    process or at this one's successor. Django closes it in a thread while the event loop counts open streams; each of
    both is one atomic operation on a dictionary.
    """

    def __init__(self, credential: Credential, text: AsyncGenerator[bytes, None]) -> None:
        self._credential, self._text = credential, text
        key = held_requests.enter(OpenRequest(credential))
        _open[key] = credential
        self._leave = weakref.finalize(self, _close, key)

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        _begin_review()
        async with aclosing(self._text), aclosing(with_pauses(self._text, REVIEW_EVERY_S)) as chunks:
            async for chunk in chunks:
                if self._credential in _ended or draining.has_begun():
                    return
                if chunk is not None:
                    yield chunk

    def close(self) -> None:
        """Count the stream as closed; idempotent."""
        self._leave()


def _begin_review() -> None:
    if not any(review.get_loop() is asyncio.get_running_loop() for review in _reviews):
        review = asyncio.create_task(_review())
        _reviews.add(review)
        review.add_done_callback(_reviews.discard)


async def _review() -> None:
    """Look up which credentials have ended, for all streams at once, until none is open."""
    while _open:
        await asyncio.sleep(REVIEW_EVERY_S)
        streams = set(_open.values())
        try:
            found = await sync_to_async(_in_own_connection, thread_sensitive=False)(credentials.ended, streams)
        except Error as error:
            logger.warning("can't check the credentials of event streams: %s", error)
            continue
        _ended.intersection_update(streams)
        _ended.update(found)


def _in_own_connection(ask: Callable[..., T], *words: Any, **named: Any) -> T:
    """Query the database from a thread that serves no request."""
    close_old_connections()
    try:
        return ask(*words, **named)
    finally:
        connections.close_all()


async def authorize(authorization: Callable[..., Any], request: HttpRequest, **words: Any) -> Response:
    """Return the response of an API view to this request: 200 where the caller may open the stream."""

    def ask() -> Response:
        answer: Response = authorization(request, **words).render()
        return answer

    return await sync_to_async(_in_own_connection, thread_sensitive=False)(ask)


def serve(answer: Response, text: AsyncGenerator[bytes, None], instead: str) -> HttpResponseBase:
    """Return the stream of `text` for an authorized request (`answer`), or 503 with `Retry-After` where no more fits.

    `instead` is the path that the refusal recommends for polling.
    """
    credential = Credential.of(answer.renderer_context["request"])  # type: ignore[attr-defined]
    if draining.has_begun():
        return _come_back(_("this process ends: open it again in %(seconds)d s") % {"seconds": COME_BACK_S})
    try:
        stream = Stream(credential, text)
    except TooManyHeld as refused:
        detail = _("%(reason)s (here: %(instead)s)") % {"reason": refused.detail, "instead": instead}
        return _come_back(detail)
    response = StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold events back
    return response


def _come_back(detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(COME_BACK_S)})


async def with_pauses(events: AsyncGenerator[T, None], pause_s: float) -> AsyncGenerator[T | None, None]:
    """Yield the events, and None after each `pause_s` seconds without one."""
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
    """End the thread that Django keeps for this request's synchronous middleware; it would idle during the stream.

    asgiref.sync creates the executor of a request's thread-sensitive context on first use, and again if needed later.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context not in SyncToAsync.context_to_thread_executor:
        return
    await sync_to_async(connections.close_all)()
    SyncToAsync.context_to_thread_executor.pop(context).shutdown(wait=False)
