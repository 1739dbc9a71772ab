"""Deadlines for request headers and bodies, so that a client which sends slowly holds no connection for ever.

A request line or headers of more than `HEAD_BYTES` are answered with the status that says so.
"""

import asyncio
import sys
from http import HTTPStatus

import h11
from django.utils.translation import gettext as _
from uvicorn.protocols.http.h11_impl import H11Protocol

from core.lib.asgi import Application, Message, Receive, Scope, Send

HEADERS_WITHIN_S = 20.0
HEAD_BYTES = 65536  # limit for a request line and its headers; h11's own limit is 16 KB
BODY_WITHIN_S = 60.0
DRAINED_WITHIN_S = 5.0  # A refused client gets this time to finish sending: closing at once would reset its connection.
PATH_BYTES = 200  # the beginning of a refused address, which tells the API from pages


def answer_of(path: str, status: HTTPStatus, reason: str) -> tuple[str, bytes]:
    """Return type and body of an answer: JSON for the APIs, a page for other addresses, text where there is none."""
    from panel.error_pages import refused  # it needs Django's settings, which the server sets up later

    if not path.startswith("/"):
        return "text/plain; charset=utf-8", f"{reason}\n".encode()
    answer = refused(path, status, reason)
    return answer["Content-Type"], answer.content


class HeaderDeadline(H11Protocol):
    """uvicorn's HTTP protocol, which also closes a connection whose headers are not complete in time.

    uvicorn itself waits for them without limit; its keep-alive timeout only runs between two requests.
    """

    _deadline: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the deadline at the end of the headers; start it at the first byte of a further request."""
        if self._is_refused:
            return
        requests = self.cycle
        super().data_received(data)
        if self.cycle is not requests:
            self._unwatch()
        elif self.cycle is None or self.cycle.response_complete:
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer what can't be parsed; a request line or headers that are too long with 414 or 431.

        The rest of what the client sends is read and dropped, since unread bytes make the kernel reset the connection
        before the client has read the answer. Overrides a method of uvicorn's, which answers 400 and closes.
        """
        status, reason = self._refusal(msg)
        kind, body = answer_of(self._path(), status, reason)
        headers = [("content-type", kind), ("connection", "close")]
        answer = [h11.Response(status_code=status, headers=headers, reason=status.phrase.encode())]
        for event in (*answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self._is_refused = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(DRAINED_WITHIN_S, self.transport.close)

    def _refusal(self, otherwise: str) -> tuple[HTTPStatus, str]:
        """Return the status and the sentence; called while h11's error is handled, which knows what was too long."""
        if getattr(sys.exc_info()[1], "error_status_hint", 400) != HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE:
            return HTTPStatus.BAD_REQUEST, otherwise
        if b"\n" not in self.conn.trailing_data[0]:
            return HTTPStatus.REQUEST_URI_TOO_LONG, _("the address is longer than 64 KB: send less in its query")
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _("the headers are larger than 64 KB: send fewer cookies")

    def _path(self) -> str:
        """Return the beginning of the address that was asked for; empty where that can't be parsed."""
        words = bytes(self.conn.trailing_data[0][:PATH_BYTES]).split(b" ", 2)
        return words[1].decode(errors="replace") if len(words) > 1 else ""

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline's timer: a connection that is gone can't be late."""
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

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; to the application, a late body looks like a client that disconnected."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        body = _Body(receive)
        await self._app(scope, body.receive, send)
        if body.is_late:
            reason = _("the request body did not arrive within 60 s: send it again")
            kind, late = answer_of(scope["path"], HTTPStatus.REQUEST_TIMEOUT, reason)
            headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 408, "headers": headers})
            await send({"type": "http.response.body", "body": late})


class _Body:
    """The ASGI messages of one request; the deadline holds for its body only, not for the wait for a disconnect."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._is_whole = self.is_late = False
        self._ends = asyncio.get_running_loop().time() + BODY_WITHIN_S

    async def receive(self) -> Message:
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
