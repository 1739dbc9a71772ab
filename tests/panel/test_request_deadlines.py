"""Requests that never arrive in full, sent to a real web server on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn

from panel import request_deadlines
from panel.quickstart.ports import LOOPBACK, free_port
from panel.request_deadlines import HEAD_BYTES, BodyDeadline, HeaderDeadline

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_deadlines, "HEADERS_WITHIN_S", 0.3)
    monkeypatch.setattr(request_deadlines, "BODY_WITHIN_S", 0.3)


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body, however many messages it comes in; nothing to a client that left."""
    body, message = b"", {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[int]:
    port = free_port()
    config = uvicorn.Config(
        BodyDeadline(echo),
        host=LOOPBACK,
        port=port,
        http=HeaderDeadline,
        h11_max_incomplete_event_size=HEAD_BYTES,
        lifespan="off",
        log_config=None,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[method-assign,attr-defined]
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield port
    finally:
        server.should_exit = True
        await task


def with_server(visit: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]) -> bytes:
    async def main() -> bytes:
        async with serving() as port:
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            try:
                return await asyncio.wait_for(visit(reader, writer), 30)
            finally:
                writer.close()

    return asyncio.run(main())


@pytest.mark.parametrize("beginning", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: "])
def test_a_request_whose_headers_never_end_is_closed(beginning: bytes):
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(beginning)
        return await reader.read()  # ends when the server closes

    assert with_server(visit) == b""


def test_a_second_request_on_a_kept_connection_has_the_same_time():
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"GET / HT")
        return await reader.read()

    assert with_server(visit) == b""


def test_a_body_that_never_ends_is_answered_408():
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        return await reader.read()

    assert with_server(visit).startswith(b"HTTP/1.1 408 ")


def test_a_slow_request_that_arrives_is_answered():
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for part in (
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
            b"Content-Length: 4\r\n\r\n",
            b"wh",
            b"ole"[:2],
        ):
            writer.write(part)
            await asyncio.sleep(0.05)
        return await reader.read()

    assert with_server(visit).endswith(b"whol")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /?q=%s HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 414 "),
        (b"GET / HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n", b"HTTP/1.1 431 "),
    ],
)
@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_a_head_that_is_too_long_is_answered_and_not_reset(head: bytes, status: bytes, size: int):
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(head % (b"x" * size))
        await writer.drain()  # all of it is sent before the answer is read, as urllib and curl do
        return await reader.read()

    assert with_server(visit).startswith(status)


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/api/v1/pools/", "application/json", b'{"detail": "%s"}'),
        ("/v2/databases", "application/json", b'"message": "%s"'),
        ("/pools/", "text/html", b'<p class="pd-subtitle">%s.</p>'),
    ],
)
@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (f"?q={'x' * 200_000} HTTP/1.1\r\n\r\n", "the address is longer than 64 KB: send less in its query"),
        (
            f" HTTP/1.1\r\nHost: x\r\nCookie: {'x' * 200_000}\r\n\r\n",
            "the headers are larger than 64 KB: send fewer cookies",
        ),
        (
            " HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf",
            "the request body did not arrive within 60 s: send it again",
        ),
    ],
    ids=["address", "headers", "body"],
)
def test_what_no_view_gets_is_refused_as_json_or_as_a_page(path: str, kind: str, body: bytes, rest: str, reason: str):
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(f"POST {path}{rest}".encode())
        await writer.drain()
        return await reader.read()

    head, _blank, shown = with_server(visit).partition(b"\r\n\r\n")
    assert f"content-type: {kind}".encode() in head
    wanted = body % reason.encode()
    assert (wanted.replace(b">t", b">T") if kind == "text/html" else wanted) in shown


def test_an_address_of_50_kb_is_served():
    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"GET /?q=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % (b"x" * 50_000))
        return await reader.read()

    assert with_server(visit).startswith(b"HTTP/1.1 200 ")
