"""Feeds: one reading of a run for all its viewers, bounded, and what a viewer gets who is far behind."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from benchmarks.models import Run, Sample, Status
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import feeds, follower, sources
from benchmarks.runs.live.sources import Snapshot
from core.lib import redis_client
from panel.quickstart.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)
KEPT = 10


@pytest.fixture(autouse=True)
def few_are_kept(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    redis_client.reset_shared()
    monkeypatch.setattr(feeds, "KEPT_EVENTS", KEPT)
    monkeypatch.setattr(feeds, "FIRST_EVENTS", KEPT)
    monkeypatch.setattr(feeds, "WITHOUT_REDIS_S", 0.05)
    monkeypatch.setattr(follower, "AT_ONCE", 7)
    yield
    redis_client.reset_shared()


@pytest.fixture
def run() -> Run:
    """A run that has begun, with 30 samples."""
    run = Run.objects.claim(str(Run.objects.enqueue().pk), "local")
    run.write(status=Status.RUNNING)
    record(run, range(1, 31))
    return run


def record(run: Run, seqs: range) -> None:
    Sample.objects.bulk_create(Sample(run=run, attempt=1, seq=seq, t=float(seq)) for seq in seqs)


async def seen_by_viewer(run: Run, after: str = live_events.BEGINNING, pause_s: float = 60.0) -> list[str]:
    async with aclosing(follower.follow(run.pk, after, pause_s=pause_s)) as coming:
        return [event.id async for events in coming for event in events if event.name != "state"]


def ids(seqs: range) -> list[str]:
    return [*(live_events.event_id(1, seq) for seq in seqs), live_events.event_id(1, live_events.END_SEQ)]


def test_a_viewer_from_the_beginning_gets_what_is_kept_no_more_in_order_and_once(run: Run) -> None:
    run.finish(Status.SUCCEEDED)
    assert async_to_sync(seen_by_viewer)(run) == ids(range(1, 31))
    assert async_to_sync(seen_by_viewer)(run, "1-3") == ids(range(4, 31))
    assert async_to_sync(seen_by_viewer)(run, "1-28") == ids(range(29, 31))


def test_many_viewers_at_different_places_cost_one_reading(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    read = sources.newest

    async def counted(run_id: str, after: str, at_most: int) -> Snapshot:
        calls[after] += 1
        return await read(run_id, after, at_most)

    monkeypatch.setattr(sources, "newest", counted)

    async def watch() -> list[list[str]]:
        viewers = [asyncio.create_task(seen_by_viewer(run, f"1-{25 + number % 5}")) for number in range(60)]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(record, run, range(31, 61))
        await asyncio.to_thread(run.finish, Status.SUCCEEDED)
        return await asyncio.gather(*viewers)

    found = async_to_sync(watch)()
    assert found == [ids(range(26 + number % 5, 61)) for number in range(60)]
    assert set(calls.values()) <= set(range(1, 60)), "as often as it was silent, not as often as it was viewed"
    assert calls["0-0"] == 1
    assert feeds._feeds == {}


def test_a_viewer_who_does_not_read_takes_no_memory_and_gets_all_of_it_later(run: Run) -> None:
    async def watch() -> tuple[int, list[str]]:
        async with aclosing(follower.follow(run.pk, "1-30")) as slow:
            first = await anext(slow)
            quick = asyncio.create_task(seen_by_viewer(run, "1-30"))
            for begin in range(31, 331, 10):
                await asyncio.to_thread(record, run, range(begin, begin + 10))
                await asyncio.sleep(0.06)
            await asyncio.to_thread(run.finish, Status.SUCCEEDED)
            assert await quick == ids(range(31, 331))
            (feed,) = feeds._feeds.values()
            kept = len(feed._events)
            late = [event.id async for events in slow for event in events if event.name != "state"]
        assert [event.name for event in first] == ["state"]
        return kept, late

    kept, late = async_to_sync(watch)()
    assert kept <= 2 * KEPT
    assert late == ids(range(31, 331))


def test_the_streams_of_a_removed_run_end(run: Run) -> None:
    async def watch() -> list[str]:
        viewer = asyncio.create_task(seen_by_viewer(run, "1-30"))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(Run.objects.filter(pk=run.pk).delete)
        return await viewer

    assert async_to_sync(watch)() == []


def test_a_viewer_ahead_of_the_run_ends_with_it_and_holds_nobody_up(run: Run) -> None:
    async def watch() -> list[list[str]]:
        viewers = [asyncio.create_task(seen_by_viewer(run, after)) for after in ("9-0", "1-999", "1-30")]
        await asyncio.sleep(0.2)
        await asyncio.to_thread(record, run, range(31, 34))
        await asyncio.to_thread(run.finish, Status.SUCCEEDED)
        return await asyncio.gather(*viewers)

    end = ids(range(0))
    assert async_to_sync(watch)() == [[], end, ids(range(31, 34))]


def test_an_empty_list_stands_for_silence_however_often_the_database_is_read_meanwhile(run: Run) -> None:
    async def watch() -> list[list[str]]:
        async with aclosing(follower.follow(run.pk, "1-30", pause_s=0.5)) as coming:
            return [[event.name for event in await anext(coming)] for _ in range(3)]

    assert async_to_sync(watch)() == [["state"], [], []]
