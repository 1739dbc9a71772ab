"""What a web process answers beyond its capacity: each caller in its own form; health and sign-in as ever."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from panel import urls
from panel.web.handler import Handler
from panel.web.lanes import Lanes
from tests.panel.web.asking import Answer, ask

pytestmark = pytest.mark.django_db(transaction=True)
ended = threading.Event()


def slow(_request: HttpRequest) -> HttpResponse:
    ended.wait(30)
    return HttpResponse("done")


slow.login_required = False  # type: ignore[attr-defined]
urlpatterns = [path("slow/", slow), path("v2/slow/", slow), *urls.urlpatterns]


@pytest.fixture
def overloaded(settings: Any) -> Callable[..., list[Answer]]:
    """Asks while both threads work and the queues are full; the answers to those come last."""
    settings.ROOT_URLCONF, settings.WEB_THREADS, settings.WEB_QUEUE, settings.WAITS = __name__, 1, 1, 1
    ended.clear()

    def run(*requests: Callable[[Handler], Awaitable[Answer]]) -> list[Answer]:
        async def main() -> list[Answer]:
            panel = Handler(Lanes())
            before = [asyncio.create_task(ask(panel, url)) for url in ("/slow/", "/v2/slow/") * 2]
            await asyncio.sleep(0.2)
            try:
                found = [await request(panel) for request in requests]
            finally:
                ended.set()
            return [*found, *await asyncio.gather(*before)]

        return asyncio.run(main())

    return run


def to(path: str, method: str = "GET") -> Callable[[Handler], Awaitable[Answer]]:
    return lambda panel: ask(panel, path, method)


def test_apis_are_refused_in_their_own_form_and_told_when_to_come_back(overloaded: Any) -> None:
    api, managed, *served = overloaded(to("/api/v1/pools/", "POST"), to("/v2/databases"))
    assert [one.body for one in served] == [b"done"] * 4, "what was accepted is served"
    detail = "the panel has more to do than it can: nothing was done, try again in 2 s"
    assert (api.status, api.headers["content-type"], api.headers["retry-after"]) == (503, "application/json", "2")
    assert json.loads(api.body) == {"detail": detail}
    assert (managed.status, managed.headers["retry-after"], "refresh" in managed.headers) == (503, "2", False)
    assert json.loads(managed.body)["message"] == detail


def test_a_person_gets_a_page_that_loads_itself_again(overloaded: Any) -> None:
    page, head, *_served = overloaded(to("/pools/"), to("/pools/", "HEAD"))
    assert (page.status, page.headers["retry-after"], page.headers["refresh"]) == (503, "2", "2")
    assert (page.headers["content-type"], page.headers["cache-control"]) == ("text/html; charset=utf-8", "no-store")
    assert "loads itself again every two seconds" in page.body.decode()
    assert (head.status, head.body, head.headers["content-length"]) == (503, b"", str(len(page.body)))


def test_a_form_is_not_sent_again_by_itself(overloaded: Any) -> None:
    page, *_served = overloaded(to("/pools/new/", "POST"))
    assert (page.status, "refresh" in page.headers) == (503, False)
    assert "What you sent was not done" in page.body.decode()


def test_health_and_sign_in_answer_as_ever(overloaded: Any) -> None:
    live, login, *_served = overloaded(to("/healthz/live"), to("/login/"))
    assert (live.status, json.loads(live.body)) == (200, {"status": "live"})
    assert login.status == 200
    assert 'name="username"' in login.body.decode()
