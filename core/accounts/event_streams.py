"""Server-Sent Events: authorization, the end of the caller's access, and the HTTP response."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.accounts import held_requests, stream_reviews
from core.accounts.access import Access
from core.accounts.credentials import Credential, Grants, as_if_new
from core.accounts.held_requests import COME_BACK_S, OpenRequest, TooManyHeld
from core.accounts.stream_reviews import OpenStream
from core.lib import draining

T = TypeVar("T")


class StreamView(APIView):
    """The view that authorizes a stream by the same rules as the rest of the API."""

    def perform_content_negotiation(self, request: Request, force: bool = True) -> tuple[BaseRenderer, str]:
        """Answer refusals as JSON, also to an EventSource, which accepts only an event stream."""
        return super().perform_content_negotiation(request, force=True)


class Authorization:
    """Whether a request may open a stream, and follow it on, by the answer of an API view: 200 where it may."""

    credential: Credential
    grants: Grants

    def __init__(self, view: Callable[..., Any], request: HttpRequest, **words: Any) -> None:
        self._view, self._request, self._words = view, request, words

    def ask(self) -> Response:
        """Return the view's response; where it is 200, `credential` and `grants` are known."""
        answer: Response = self._view(self._request, **self._words).render()
        if answer.status_code == 200:
            request = answer.renderer_context["request"]  # type: ignore[attr-defined]
            self.credential, self.grants = Credential.of(request), Grants.of(request)
        return answer

    async def still_holds(self) -> bool:
        """Tell whether the caller may go on, by the session, the user and the roles that the database has now."""

        def ask_again() -> bool:
            answer: Response = self._view(as_if_new(self._request), **self._words)
            return answer.status_code == 200

        return await sync_to_async(_in_own_connection, thread_sensitive=False)(ask_again)

    async def read_anew(self, read: Callable[[Access], T]) -> T | None:
        """Return what is read by the caller's access as it is in the database now; None where that has ended."""

        def ask_again() -> T | None:
            answer: Response = self._view(as_if_new(self._request), **self._words)
            if answer.status_code != 200:
                return None
            return read(Access.of(answer.renderer_context["request"]))  # type: ignore[attr-defined]

        return await sync_to_async(_in_own_connection, thread_sensitive=False)(ask_again)


def _close(key: object) -> None:
    stream_reviews.remove(key)
    held_requests.leave(key)


class Stream:
    """The body of a stream. It counts as open until Django closes it or, if never started, until it is collected.

    Making one raises `TooManyHeld` where no more fits.

    It ends when its caller's access does, and when the process was asked to end: its viewer then opens it again, at
    another process or at this one's successor. Django closes it in a thread while the event loop counts open streams;
    each of both is one atomic operation on a dictionary.
    """

    def __init__(self, opened: OpenStream, text: AsyncGenerator[bytes, None]) -> None:
        self._opened, self._text = opened, text
        key = held_requests.enter(OpenRequest(opened.credential))
        stream_reviews.add(key, opened)
        self._leave = weakref.finalize(self, _close, key)

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        over = self._opened.begin()
        async with aclosing(self._text), aclosing(_until(over, self._text)) as chunks:
            async for chunk in chunks:
                if self._opened.is_over or draining.has_begun():
                    return
                yield chunk

    def close(self) -> None:
        """Count the stream as closed; idempotent."""
        self._leave()


def _in_own_connection(ask: Callable[..., T], *words: Any, **named: Any) -> T:
    """Query the database from a thread that serves no request."""
    close_old_connections()
    try:
        return ask(*words, **named)
    finally:
        connections.close_all()


def serve(authorization: Authorization, text: AsyncGenerator[bytes, None], instead: str) -> HttpResponseBase:
    """Return the stream of `text` for an authorized request, or 503 with `Retry-After` where no more fits.

    `instead` is the path that the refusal recommends for polling.
    """
    if draining.has_begun():
        return _come_back(_("this process ends: open it again in %(seconds)d s") % {"seconds": COME_BACK_S})
    opened = OpenStream(authorization.credential, authorization.grants, authorization.still_holds)
    try:
        stream = Stream(opened, text)
    except TooManyHeld as refused:
        detail = _("%(reason)s (here: %(instead)s)") % {"reason": refused.detail, "instead": instead}
        return _come_back(detail)
    response = StreamingHttpResponse(stream, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold events back
    return response


def _come_back(detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail}, status=503, headers={"Retry-After": str(COME_BACK_S)})


async def _until(over: "asyncio.Future[None]", events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the events until `over` is done.

    Awaits them in the reading task itself: a task of their own would take two more turns of the event loop for each
    event, and in each turn the loop waits for the interpreter while requests are served.
    """
    while not over.done():
        try:
            async with asyncio.timeout(None) as waiting:
                with _ended_by(over, waiting):
                    event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if not over.done():
                raise
            return
        yield event


@contextmanager
def _ended_by(over: "asyncio.Future[None]", waiting: asyncio.Timeout) -> Iterator[None]:
    """End a wait when `over` is done."""

    def end(_over: "asyncio.Future[None]") -> None:
        waiting.reschedule(asyncio.get_running_loop().time())

    over.add_done_callback(end)
    try:
        yield
    finally:
        over.remove_done_callback(end)
