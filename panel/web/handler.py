"""Serves a request by Django in one of a few threads, which keep their database connections; streams need none.

Django's own ASGI handler makes a thread and a database connection for each request, and goes from the event loop to the
thread and back for each middleware that is synchronous: more than what most requests take by themselves.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine
from contextlib import aclosing, suppress
from typing import IO, cast

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_started
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from core.accounts.waits import HeldBack
from core.lib.asgi import Receive, Scope, Send
from panel.web import held_answers, refusals
from panel.web.lanes import Lanes, Overloaded

Answer = tuple[HttpResponseBase, bytes | None]  # None: its content is an asynchronous stream


class Handler(ASGIHandler):
    """Django's handler of ASGI requests with synchronous middleware, of which each request is one call in a thread."""

    def __init__(self, lanes: Lanes) -> None:
        super(ASGIHandler, self).__init__()
        self.load_middleware(is_async=False)
        self._lanes = lanes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; with 503 beyond the capacity, and not at all where its client left meanwhile."""
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']} is not served, only http")
        try:
            body = await self.read_body(receive)
            try:
                response, content = await self._lanes.of(scope["path"]).call(self._answer, scope, body)
            except Overloaded:
                body.close()
                return await refusals.send(scope, send)
            if isinstance(held := getattr(response, "held_back", None), HeldBack):
                content = await self._settled(held, response, receive)
        except RequestAborted:
            return None
        return await _send(response, content, receive, send)

    def _answer(self, scope: Scope, body: IO[bytes]) -> Answer:
        """Return the response and its body; runs in a thread, in which everything of the request is done then."""
        set_script_prefix(get_script_prefix(scope))
        request_started.send(sender=self.__class__, scope=scope)
        request, error = self.create_request(scope, body)
        response: HttpResponseBase
        if request is None:
            body.close()
            response = cast("HttpResponseBase", error)
        else:
            request.holds_back = True  # type: ignore[attr-defined]  # for `core.accounts.waits`
            response = self.get_response(request)
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # as `request_finished` names it
        if getattr(response, "is_async", False):
            return response, None
        content = b"".join(response)  # of a static file, or of a whole body
        if not hasattr(response, "held_back"):
            response.close()
        return response, content

    async def _settled(self, held: HeldBack, response: HttpResponseBase, receive: Receive) -> bytes:
        """Return the body once what the request waits for has settled."""
        try:
            await _while_connected(held.settled(), receive)
            return await self._lanes.finishing.call(held_answers.body_of, response, held)
        finally:
            held.wait.leave()
            response.close()


async def _send(response: HttpResponseBase, content: bytes | None, receive: Receive, send: Send) -> None:
    """Send the response; a stream until its end, or until its client leaves."""
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"Set-Cookie", cookie.OutputString().encode("ascii")) for cookie in response.cookies.values()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    if content is not None:
        return await send({"type": "http.response.body", "body": content})
    try:
        with suppress(RequestAborted):
            await _while_connected(_stream(cast("AsyncIterable[bytes]", response), send), receive)
    finally:
        response.close()
    return None


async def _stream(parts_of: AsyncIterable[bytes], send: Send) -> None:
    async with aclosing(cast("AsyncGenerator[bytes, None]", aiter(parts_of))) as parts:
        async for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


async def _while_connected(work: Coroutine[None, None, None], receive: Receive) -> None:
    """Await the coroutine; cancel it and raise `RequestAborted` when the client leaves."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RequestAborted
        working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.wait({working, leaving})
