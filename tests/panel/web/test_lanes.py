"""Who waits for a thread, how long, and who is refused."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from panel.web import lanes
from panel.web.lanes import Lane, Lanes, Overloaded
from panel.web.threads import Threads


def lane_of_one(queue: int | None = None) -> Lane:
    return Lane(Threads("test", 1, 1), 1, queue)


def with_busy(lane: Lane, visit: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
    """Call `visit` while the one thread of the lane works; it takes what ends that work."""
    ended = threading.Event()

    async def main() -> None:
        at_work = asyncio.create_task(lane.call(ended.wait, 30))
        await asyncio.sleep(0.05)
        try:
            await visit(ended.set)
        finally:
            ended.set()
            await at_work

    asyncio.run(main())


def test_a_request_waits_for_a_thread_and_beyond_the_queue_one_is_refused_at_once() -> None:
    lane = lane_of_one(queue=1)

    async def visit(end: Callable[[], None]) -> None:
        waiting = asyncio.create_task(lane.call(lambda: "served"))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            await lane.call(lambda: "never")
        end()
        assert await waiting == "served"
        assert await lane.call(lambda: "served again") == "served again"

    with_busy(lane, visit)


def test_who_waited_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "BURST_WITHIN_S", 0.1)
    lane = lane_of_one(queue=9)

    async def visit(_end: Callable[[], None]) -> None:
        with pytest.raises(Overloaded):
            await lane.call(lambda: "never")

    with_busy(lane, visit)


def test_in_a_queue_that_was_not_empty_for_long_a_request_waits_a_shorter_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "BURST_WITHIN_S", 1.0)
    monkeypatch.setattr(lanes, "BUSY_WITHIN_S", 0.01)
    lane = lane_of_one(queue=9)

    async def visit(end: Callable[[], None]) -> None:
        first = asyncio.create_task(lane.call(lambda: "served"))
        await asyncio.sleep(0.6)
        second = asyncio.create_task(lane.call(lambda: "served"))  # of the burst still
        await asyncio.sleep(0.6)
        third = asyncio.create_task(lane.call(lambda: "never"))
        with pytest.raises(Overloaded):
            await third
        end()
        with pytest.raises(Overloaded):
            await first
        assert await second == "served"

    with_busy(lane, visit)


def test_the_spared_wait_as_long_as_it_takes(settings: object) -> None:
    lane = lane_of_one()

    async def visit(end: Callable[[], None]) -> None:
        many = [asyncio.create_task(lane.call(lambda: "served")) for _ in range(300)]
        await asyncio.sleep(0.05)
        end()
        assert await asyncio.gather(*many) == ["served"] * 300

    with_busy(lane, visit)


def test_the_thread_of_a_client_that_left_is_free_once_its_work_is_done() -> None:
    lane = lane_of_one(queue=1)

    async def main() -> None:
        ended = threading.Event()
        left = asyncio.create_task(lane.call(ended.wait, 30))
        await asyncio.sleep(0.05)
        left.cancel()
        waiting = asyncio.create_task(lane.call(lambda: "served"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        ended.set()
        assert await waiting == "served"

    asyncio.run(main())


@pytest.mark.parametrize(
    "path", ["/healthz/live", "/healthz/ready", "/login/", "/login/second-factor/", "/static/css/pooldeck.css"]
)
def test_health_sign_in_and_what_its_page_needs_have_threads_of_their_own(path: str) -> None:
    found = Lanes()
    assert found.of(path) is found.of("/healthz/live")
    assert found.of(path) is not found.of("/pools/")


def test_changes_under_v2_which_wait_in_their_threads_take_none_of_the_others() -> None:
    found = Lanes()
    assert found.of("/v2/databases") not in (found.of("/pools/"), found.of("/login/"))
