"""A reader that takes nothing of its event stream holds up nobody else, and gets nothing after its end."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
import uvicorn
from django.http import HttpRequest, StreamingHttpResponse
from django.urls import path

from core.accounts import credentials, stream_reviews
from core.accounts.credentials import Credential, Grants
from core.accounts.event_streams import Stream
from core.accounts.stream_reviews import OpenStream
from panel.quickstart.ports import LOOPBACK, free_port
from panel.web.handler import Handler
from panel.web.lanes import Lanes

EVENT = b"data: " + b"x" * 65536 + b"\n\n"
READ = 48 * 1024 * 1024  # by the quick reader; several times what the buffers of a connection hold
HELD = READ // 2
produced = {"slow": 0, "quick": 0}
GRANTS = Grants(is_admin=False, roles=frozenset())
opened_by = {"slow": Credential(1, session_key="slow"), "quick": Credential(2, session_key="quick")}


async def endless(reader: str) -> AsyncGenerator[bytes, None]:
    while True:
        produced[reader] += len(EVENT)
        yield EVENT
        await asyncio.sleep(0)


async def is_allowed() -> bool:
    return True


async def stream(_: HttpRequest, reader: str) -> StreamingHttpResponse:
    opened = OpenStream(opened_by[reader], GRANTS, is_allowed)
    return StreamingHttpResponse(Stream(opened, endless(reader)), content_type="text/event-stream")


urlpatterns = [path("<str:reader>/", stream)]


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[int]:
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(Handler(Lanes()), host=LOOPBACK, port=port, lifespan="off", log_config=None))
    server.install_signal_handlers = lambda: None  # type: ignore[method-assign,attr-defined]
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield port
    finally:
        server.should_exit = server.force_exit = True
        await task


async def ask(port: int, reader: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    connection = await asyncio.open_connection(LOOPBACK, port, limit=1024)
    connection[1].write(f"GET /{reader}/ HTTP/1.1\r\nHost: testserver\r\nConnection: close\r\n\r\n".encode())
    return connection


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)


def streams_of(reader: str) -> list[OpenStream]:
    return [one for one in stream_reviews._open.values() if one.credential == opened_by[reader]]


async def read(stream_reader: asyncio.StreamReader, count: int) -> None:
    left = count
    while left > 0:
        left -= len(await stream_reader.read(65536))


@pytest.fixture(autouse=True)
def ended(settings: Any, monkeypatch: pytest.MonkeyPatch) -> set[Credential]:
    """The credentials that are no longer valid; nothing else is asked of a database."""
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    produced.update(slow=0, quick=0)
    gone: set[Credential] = set()
    monkeypatch.setattr(stream_reviews, "REVIEW_EVERY_S", 0.05)
    monkeypatch.setattr(credentials, "granted", lambda held: dict.fromkeys(set(held) - gone, GRANTS))
    return gone


def test_a_slow_reader_holds_back_its_own_stream_alone_and_gives_its_place_back() -> None:
    async def talk() -> None:
        async with serving() as port:
            _, slow = await ask(port, "slow")
            await until(lambda: produced["slow"])
            quick_reader, quick = await ask(port, "quick")
            await read(quick_reader, READ)
            assert 0 < produced["slow"] < HELD
            for writer in (slow, quick):
                writer.close()
            await until(lambda: not stream_reviews._open)

    asyncio.run(talk())


def test_a_slow_reader_whose_token_was_revoked_gets_no_more_than_was_under_way(ended: set[Credential]) -> None:
    async def talk() -> None:
        async with serving() as port:
            slow_reader, slow = await ask(port, "slow")
            quick_reader, quick = await ask(port, "quick")
            await read(quick_reader, READ)
            before = produced["slow"]
            ended.add(opened_by["slow"])
            await until(lambda: [one.is_over for one in streams_of("slow")] == [True])
            async with asyncio.timeout(60):
                while await slow_reader.read(65536):
                    pass
            assert produced["slow"] <= before + 2 * len(EVENT)
            await until(lambda: not streams_of("slow"))
            for writer in (slow, quick):
                writer.close()
            await until(lambda: not stream_reviews._open)

    asyncio.run(talk())
