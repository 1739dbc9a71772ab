"""Deadlines for request headers and bodies, so that a client which sends slowly holds no connection for ever."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_WITHIN_S = 20.0
BODY_WITHIN_S = 60.0
TOO_SLOW = b"the request body did not arrive within 60 s: send it again\n"


class HeaderDeadline(H11Protocol):
    """uvicorn's HTTP protocol, which also closes a connection whose headers are not complete in time.

    uvicorn itself waits for them without limit; its keep-alive timeout only runs between two requests.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the deadline at the end of the headers; start it at the first byte of a further request."""
        requests = self.cycle
        super().data_received(data)
        if self.cycle is not requests:
            self._unwatch()
        elif self.cycle is None or self.cycle.response_complete:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the deadline of the incoming request, unless it runs already."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEADERS_WITHIN_S, self.transport.close)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class BodyDeadline:
    """ASGI middleware that answers 408 where a request's body does not arrive within `BODY_WITHIN_S`."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on; to the application, a late body looks like a client that disconnected."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)  # type: ignore[no-any-return]
        body = _Body(receive)
        await self._app(scope, body.receive, send)
        if body.is_late:
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 408, "headers": headers})
            await send({"type": "http.response.body", "body": TOO_SLOW})


class _Body:
    """The ASGI messages of one request; the deadline holds for its body only, not for the wait for a disconnect."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._is_whole = self.is_late = False
        self._ends = asyncio.get_running_loop().time() + BODY_WITHIN_S

    async def receive(self) -> Any:
        """Wait for the next message; return a disconnect where the body is late."""
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends):
                message = await self._receive()
        except TimeoutError:
            self.is_late = True
            return {"type": "http.disconnect"}
        self._is_whole = not message.get("more_body", False)
        return message
