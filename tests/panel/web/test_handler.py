"""What the handler of requests does besides calling Django: waits that are held back, streams, and its threads."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.signals import request_finished
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from core.accounts import held_requests, waits
from core.accounts.models import ApiToken
from panel import urls
from panel.web.handler import Handler
from panel.web.lanes import Lanes
from pools.models import Pool, PoolState
from tests.callers import person
from tests.panel.web.asking import ask
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db(transaction=True)
closed: list[str] = []


async def endless() -> AsyncGenerator[bytes, None]:
    try:
        while True:
            yield b"data: 1\n\n"
            await asyncio.sleep(0.01)
    finally:
        closed.append("closed")


def stream(_request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(endless(), content_type="text/event-stream")


def whoami(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{threading.current_thread().name} {id(connections['default'])} {request.body!r}")


for view in (stream, whoami):
    view.login_required = False  # type: ignore[attr-defined]
urlpatterns = [path("stream/", stream), path("whoami/", whoami), *urls.urlpatterns]


@pytest.fixture(autouse=True)
def addresses(settings: Any) -> None:
    settings.ROOT_URLCONF, settings.WEB_THREADS = __name__, 1
    closed.clear()


def test_requests_share_threads_and_their_database_connections() -> None:
    async def main() -> set[bytes]:
        panel = Handler(Lanes())
        return {(await ask(panel, "/whoami/")).body for _ in range(30)}

    found = asyncio.run(main())
    assert len(found) <= 3, "a thread may still be on its way back when the next request comes"
    assert any(one.startswith(b"request_0 ") for one in found)


def test_an_answer_that_waits_is_made_when_its_record_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, text = a_pool(state=PoolState.PENDING), ApiToken.objects.issue(person(), "waits", ["read"])

    async def settle(_seconds: float) -> None:
        await sync_to_async(Pool.objects.update)(state=PoolState.APPLIED)

    monkeypatch.setattr(waits, "_pause", settle)
    answer = asyncio.run(ask(Handler(Lanes()), f"/api/v1/pools/{pool.pk}/?wait=20", authorization=f"Bearer {text}"))
    assert (answer.status, json.loads(answer.body)["state"]) == (200, "applied")
    assert answer.headers["content-length"] == str(len(answer.body))
    assert held_requests._held == {}


def test_a_wait_whose_token_ends_meanwhile_is_answered_401(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, text = a_pool(state=PoolState.PENDING), ApiToken.objects.issue(person(), "waits", ["read"])

    async def revoke(_seconds: float) -> None:
        await sync_to_async(ApiToken.objects.all().delete)()

    monkeypatch.setattr(waits, "_pause", revoke)
    answer = asyncio.run(ask(Handler(Lanes()), f"/api/v1/pools/{pool.pk}/?wait=20", authorization=f"Bearer {text}"))
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert json.loads(answer.body) == {"detail": "the token is unknown, expired or revoked"}


def test_a_stream_ends_when_its_client_leaves_and_holds_no_thread_meanwhile() -> None:
    finished: list[object] = []

    def note(**_words: object) -> None:
        finished.append("finished")

    async def main() -> None:
        panel, leaves, sent = Handler(Lanes()), asyncio.Event(), []
        coming = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if coming:
                return coming.pop()
            await leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/stream/", "query_string": b"", "headers": []}
        scope["headers"] = [(b"host", b"testserver")]
        following = asyncio.create_task(panel(scope, receive, send))
        async with asyncio.timeout(20):
            while len(sent) < 5:
                await asyncio.sleep(0.01)
            assert (await ask(panel, "/whoami/")).status == 200, "the one thread is free"
            request_finished.connect(note)
            leaves.set()
            await following

    try:
        asyncio.run(main())
    finally:
        request_finished.disconnect(note)
    assert (closed, finished) == (["closed"], ["finished"])


def test_a_client_that_leaves_before_its_body_is_whole_is_not_answered() -> None:
    async def main() -> list[Any]:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/whoami/", "query_string": b"", "headers": []}
        await Handler(Lanes())(scope, receive, send)
        return sent

    assert asyncio.run(main()) == []
