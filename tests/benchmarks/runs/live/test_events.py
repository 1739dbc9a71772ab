"""Events of a run: their ids and order, what the database tells, and following without Redis."""

import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from asgiref.sync import async_to_sync
from django.db import connections

from benchmarks.models import Run, Sample, Status
from benchmarks.runs.live import events as live_events
from benchmarks.runs.live import follower, publisher, sources
from benchmarks.runs.live.events import Event
from core.lib import redis_client
from panel.quickstart.ports import free_port
from tests.benchmarks.records import a_finished_run, look_at_pool


@pytest.fixture(autouse=True)
def no_redis(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    redis_client.reset_shared()
    yield
    redis_client.reset_shared()


@pytest.mark.parametrize(
    ("id_", "place"),
    [
        ("1-42", (1, 42)),
        ("0-0", (0, 0)),
        ("2-99999999999999999999", (2, live_events.END_SEQ)),
        ("9999999999999999999999-1", (live_events.END_SEQ, 1)),
        ("", (0, 0)),
        ("7", (0, 0)),
        ("a-b", (0, 0)),
        ("-1-2", (0, 0)),
        ("1-2-3", (0, 0)),
        ("٣-1", (0, 0)),
        ("1" * 50 + "-1", (0, 0)),
    ],
)
def test_an_id_is_read_as_a_place_and_anything_else_as_the_beginning(id_, place):
    assert live_events.position(id_) == place


@pytest.mark.parametrize(
    ("last", "ids", "gapless"),
    [
        ("0-0", [], True),
        ("1-4", ["1-5", "1-6"], True),
        ("1-4", ["1-6"], False),
        ("1-4", ["1-5", "1-7"], False),
        ("1-4", ["2-1"], False),
        ("0-0", ["1-1"], False),
    ],
)
def test_a_number_left_out_is_seen(last, ids, gapless):
    assert sources.has_no_gap(last, [Event("sample", id_) for id_ in ids]) is gapless


def test_the_end_may_come_after_any_number():
    assert sources.has_no_gap("1-4", [Event("sample", "1-5"), Event("end", f"1-{live_events.END_SEQ}")])


def test_what_stands_in_the_stream_and_in_the_database_is_told_once_and_in_order():
    stored = [Event("sample", "1-10"), Event("sample", "1-9")]
    published = [Event("log", "1-2"), Event("sample", "1-9"), Event("log", "1-11")]
    assert [event.id for event in sources._merged(stored, published)] == ["1-2", "1-9", "1-10", "1-11"]


@pytest.mark.django_db
def test_history_is_what_comes_after_an_id():
    run = a_finished_run(points=2)
    look_at_pool(run, seq=3, t=1.5)
    assert [(event.id, event.name) for event in live_events.history(run)] == [
        ("1-2", "sample"),
        ("1-3", "pool"),
        ("1-4", "sample"),
        ("1-2147483647", "end"),
    ]
    assert [event.id for event in live_events.history(run, "1-3")] == ["1-4", "1-2147483647"]
    assert [event.id for event in live_events.history(run, "1-4")] == ["1-2147483647"]
    assert live_events.history(run, "1-2147483647") == []


@pytest.mark.django_db
def test_publishing_without_redis_is_noted_once_and_costs_next_to_nothing(caplog):
    run, publishing = Run.objects.enqueue(), publisher.Publisher()
    began = time.monotonic()
    assert [publishing.publish(run.pk, Event("state", f"1-{seq}")) for seq in range(1, 200)] == [False] * 199
    assert time.monotonic() - began < 10
    assert len([record for record in caplog.records if "Redis can't be reached" in record.message]) == 1


def working(run: Run, work: Callable[[Run], None]) -> threading.Thread:
    """Does the work in a thread, as a worker would in a process of its own."""

    def carry_out() -> None:
        try:
            work(run)
        finally:
            connections.close_all()

    thread = threading.Thread(target=carry_out)
    thread.start()
    return thread


def sample_and_finish(run: Run) -> None:
    for seq in (2, 3, 5):
        time.sleep(0.3)
        Sample.objects.create(run=run, attempt=1, seq=seq, t=float(seq), tps=1.0)
    run.finish(Status.SUCCEEDED)


@pytest.mark.django_db(transaction=True)
def test_without_redis_a_run_is_followed_through_the_database_to_its_end():
    run = Run.objects.claim(str(Run.objects.enqueue().pk), "local")
    run.write(status=Status.RUNNING)

    async def follow() -> list[Event]:
        return [event async for events in follower.follow(run.pk, "1-2") for event in events]

    thread = working(run, sample_and_finish)
    events = async_to_sync(follow)()
    thread.join()
    assert [(event.id, event.name) for event in events if event.name != "state"] == [
        ("1-3", "sample"),
        ("1-5", "sample"),
        ("1-2147483647", "end"),
    ]
    assert [event.payload["status"] for event in events if event.name == "state"] == ["running", "succeeded"]


@pytest.mark.django_db(transaction=True)
def test_a_watcher_who_leaves_leaves_nothing_behind():
    run = Run.objects.enqueue()

    async def look_once() -> set[str]:
        events = follower.follow(run.pk)
        assert [event.name for event in await anext(events)] == ["state"]
        await events.aclose()
        return {task.get_name() for task in asyncio.all_tasks() - {asyncio.current_task()}}

    assert async_to_sync(look_once)() == set()


def test_a_state_is_told_when_it_is_further_than_those_before():
    described, state = (
        follower._SentState(),
        {"attempt": 1, "load_began_at": None, "progress_percent": None, "stages": 0, "cancel_requested": False},
    )
    steps = [
        ({"status": "queued", "attempt": 0}, True),
        ({"status": "running"}, True),
        ({"status": "starting"}, False),
        ({"status": "running"}, False),
        ({"status": "running", "progress_percent": 5.0}, True),
        ({"status": "running", "progress_percent": 4.0}, False),
        ({"status": "running", "load_began_at": "2026-01-01T00:00:00+00:00"}, True),
        ({"status": "running", "load_began_at": "2026-01-01T00:00:00+00:00", "stages": 1}, True),
        ({"status": "failed"}, True),
    ]
    assert [described.moves_to(state | step) for step, _ in steps] == [further for _, further in steps]
