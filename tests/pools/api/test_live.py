"""The stream of a pool's figures also brings what happened since the page was loaded, as marks."""

import json
import time
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.test import RequestFactory
from django.utils import timezone

from core.accounts.access import Access
from core.accounts.event_streams import Authorization
from pools.api import live
from pools.api.live import MarkNews
from pools.models import Pool, Restart
from pools.monitoring import live_feed, marks
from pools.monitoring.marks import Latest
from pools.monitoring.sampler import ConsoleSnapshot
from tests.benchmarks.records import a_finished_run
from tests.callers import of_an_admin
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db


class OfAdmin(Authorization):
    """The authorization of an administrator, in the test's own connection."""

    def __init__(self) -> None:
        super().__init__(lambda: None, RequestFactory().get("/"))

    async def read_anew(self, read: Any) -> Any:
        return await sync_to_async(read)(self.access)

    async def still_holds(self) -> bool:
        return True

    access: Access


@pytest.fixture
def authorization() -> OfAdmin:
    found = OfAdmin()
    found.access = of_an_admin()
    return found


def streamed(pool: Pool, news: MarkNews, happened: list[Latest], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what the events `marks` of a stream hold while these are the latest."""

    async def follow(_pooler: UUID) -> AsyncGenerator[tuple[ConsoleSnapshot, Latest], None]:
        for at, latest in enumerate(happened):
            yield ConsoleSnapshot(at=float(at)), latest

    async def read() -> list[str]:
        stream = live._stream(news.authorization, pool.pooler_id, "pgbouncer", pool.name, news)
        return [text.decode() async for text in stream]

    monkeypatch.setattr(live_feed, "follow", follow)
    lead = "event: marks\ndata: "
    return [json.loads(text.removeprefix(lead)) for text in async_to_sync(read)() if text.startswith(lead)]


def test_marks_come_once_something_new_happened(authorization: OfAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = a_pool()
    run = a_finished_run(cluster=pool.cluster, pool=pool)
    news, now = MarkNews(authorization, "pool", pool.pk, time.time()), time.time() + 5
    happened = [Latest(), Latest(), Latest(now), Latest(now), Latest(now, restart=3)]
    first, second = streamed(pool, news, happened, monkeypatch)
    assert first["at"] == second["at"] == now
    assert [(one["kind"], one["label"]) for one in first["marks"]] == [("run", f"run {run.number}")]


@pytest.mark.parametrize("noun", ["pool", "pooler"])
def test_those_since_the_page_was_loaded_come_first(
    authorization: OfAdmin, monkeypatch: pytest.MonkeyPatch, noun: str
) -> None:
    pool = a_pool()
    an_event(pool)
    pk = {"pool": pool.pk, "pooler": pool.pooler_id}[noun]
    latest = marks.latest(pool.pooler_id)
    (found,) = streamed(pool, MarkNews(authorization, noun, pk, latest.at - 1), [latest, latest], monkeypatch)
    assert [one["kind"] for one in found["marks"]] == ["event"]
    assert streamed(pool, MarkNews(authorization, noun, pk, latest.at), [latest], monkeypatch) == []


def test_who_does_not_ask_for_marks_gets_none(authorization: OfAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = a_pool()
    news = MarkNews(authorization, "pool", pool.pk, live._moment(""))
    assert streamed(pool, news, [Latest(), Latest(9e9), Latest(9e9, 1)], monkeypatch) == []


def test_the_latest_is_that_of_the_pooler_its_pools_and_their_clusters(
    django_assert_num_queries: Any,
) -> None:
    pool = a_pool()
    assert marks.latest(pool.pooler_id) == Latest()
    restart = Restart.objects.create(pooler=pool.pooler, at=timezone.now(), evidence="process")
    assert marks.latest(pool.pooler_id) == Latest(restart.at.timestamp(), restart.pk)
    event = an_event(a_pool(), kind="cluster_down", subject_id=pool.cluster_id)
    a_finished_run(cluster=pool.cluster)
    with django_assert_num_queries(4):
        latest = marks.latest(pool.pooler_id)
    assert event.opened_at
    assert latest == Latest(event.opened_at.timestamp(), restart.pk)


def test_a_moment_that_is_none_asks_for_nothing() -> None:
    assert live._moment("soon") == live._moment("") == float("inf")
    assert live._moment("12.5") == 12.5
