"""Pages that wait for consoles of poolers which do not answer, and all other pages meanwhile."""

import asyncio
import threading
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.test import Client

from panel.web.handler import Handler
from panel.web.lanes import Lanes
from pools.models import PoolerState
from tests.callers import person
from tests.panel.web.asking import ask
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db(transaction=True)
HANGING = 10


@pytest.fixture
def consoles(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Lets no login to a console end before this event, and then refuses it."""
    ended = threading.Event()

    def hang(*_args: Any, **_parameters: Any) -> None:
        ended.wait(60)
        raise psycopg.OperationalError("connection timeout expired")

    monkeypatch.setattr(psycopg, "connect", hang)
    return ended


def test_ten_hanging_consoles_keep_nobody_from_a_page(consoles: threading.Event) -> None:
    browser = Client()
    browser.force_login(person("admin"), backend=settings.AUTHENTICATION_BACKENDS[-1])
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
    paths = [f"/poolers/{a_pooler(state=PoolerState.ONLINE).pk}/live/" for _ in range(HANGING)]

    async def main() -> None:
        panel = Handler(Lanes())
        hanging = [asyncio.create_task(ask(panel, path, cookie=cookie)) for path in paths]
        try:
            async with asyncio.timeout(60):
                page = await ask(panel, "/clusters/", cookie=cookie)
            assert page.status == 200
            assert not any(one.done() for one in hanging)
        finally:
            consoles.set()
        answers = await asyncio.gather(*hanging)
        assert [one.status for one in answers] == [200] * HANGING
        assert b"timeout expired" in answers[0].body

    asyncio.run(main())
