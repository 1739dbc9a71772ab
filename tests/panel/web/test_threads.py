"""How many requests compute at once, and that those which wait keep nobody waiting."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from panel.web import threads
from panel.web.lanes import Lane, Overloaded
from panel.web.threads import Threads

THREADS = 16


def compute(ended: threading.Event) -> str:
    while not ended.is_set():
        sum(range(1000))
    return "computed"


@contextmanager
def lane_of_two() -> Iterator[tuple[Lane, threading.Event]]:
    """Yield a lane in which two requests compute at once, and what ends them."""
    ended = threading.Event()
    try:
        yield Lane(Threads("test", THREADS, 2), THREADS, queue=50), ended
    finally:
        ended.set()


def run(visit: Callable[[Lane, threading.Event], Awaitable[None]]) -> None:
    async def main(lane: Lane, ended: threading.Event) -> None:
        async with asyncio.timeout(60):
            await visit(lane, ended)

    with lane_of_two() as (lane, ended):
        asyncio.run(main(lane, ended))


async def spell(seconds: float = 0.4) -> None:
    """Let some checks pass."""
    await asyncio.sleep(seconds)


@pytest.fixture
def all_compute(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What makes each check find that its thread computes: on a busy machine it may get no processor for a while."""
    return lambda: monkeypatch.setattr(threads, "COMPUTES_ABOVE_S", -1.0)


def test_two_compute_at_once_and_a_third_waits_for_them(all_compute: Callable[[], None]) -> None:
    all_compute()

    async def visit(lane: Lane, ended: threading.Event) -> None:
        computing = [asyncio.create_task(lane.call(compute, ended)) for _ in range(2)]
        await spell()
        third = asyncio.create_task(lane.call(lambda: "third"))
        await spell()
        assert not third.done()
        ended.set()
        assert [*await asyncio.gather(*computing), await third] == ["computed", "computed", "third"]

    run(visit)


@pytest.mark.parametrize("hanging", [2, 10, THREADS - 1])
def test_requests_that_wait_let_others_in(hanging: int) -> None:
    async def visit(lane: Lane, ended: threading.Event) -> None:
        waiting = [asyncio.create_task(lane.call(ended.wait, 60)) for _ in range(hanging)]
        await spell(0.01)
        assert await lane.call(lambda: "served") == "served"
        assert not any(one.done() for one in waiting)
        ended.set()
        assert all(await asyncio.gather(*waiting))

    run(visit)


def test_every_thread_may_wait_and_beyond_them_a_request_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit(lane: Lane, ended: threading.Event) -> None:
        waiting = [asyncio.create_task(lane.call(ended.wait, 60)) for _ in range(THREADS)]
        await spell(1.5)
        monkeypatch.setattr("panel.web.lanes.BURST_WITHIN_S", 0.2)
        with pytest.raises(Overloaded):
            await lane.call(lambda: "never")
        ended.set()
        await asyncio.gather(*waiting)
        assert await lane.call(lambda: "served") == "served"

    run(visit)


def test_one_that_computes_again_counts_again_without_waiting_for_that(all_compute: Callable[[], None]) -> None:
    async def visit(lane: Lane, ended: threading.Event) -> None:
        answered = threading.Event()

        def wait_then_compute() -> str:
            answered.wait(60)
            return compute(ended)

        first = [asyncio.create_task(lane.call(wait_then_compute)) for _ in range(2)]
        await spell(0.01)
        then = [asyncio.create_task(lane.call(compute, ended)) for _ in range(2)]
        await spell()
        answered.set()
        all_compute()
        late = asyncio.create_task(lane.call(lambda: "late"))  # Four compute: it is let in once fewer than two do.
        await spell()
        assert not late.done()
        ended.set()
        assert await asyncio.gather(*first, *then) == ["computed"] * 4
        assert await late == "late"
        await only_two_compute(lane)

    run(visit)


def test_a_failure_and_a_client_that_leaves_cost_no_place(all_compute: Callable[[], None]) -> None:
    all_compute()

    async def visit(lane: Lane, ended: threading.Event) -> None:
        def fail() -> None:
            raise ValueError("of the view")

        for _ in range(5):
            with pytest.raises(ValueError, match="of the view"):
                await lane.call(fail)
        computing = [asyncio.create_task(lane.call(compute, ended)) for _ in range(2)]
        left = [asyncio.create_task(lane.call(lambda: "never asked for")) for _ in range(5)]
        await spell()
        for one in left:
            one.cancel()
        computing.pop().cancel()  # its thread works on, and counts until it has ended
        await spell()
        ended.set()
        assert await computing.pop() == "computed"
        await only_two_compute(lane)

    run(visit)


def test_those_who_came_first_are_served_first(all_compute: Callable[[], None]) -> None:
    all_compute()

    async def visit(lane: Lane, ended: threading.Event) -> None:
        computing = [asyncio.create_task(lane.call(compute, ended)) for _ in range(2)]
        await spell()
        served: list[int] = []

        def one_after_the_other(number: int) -> None:
            served.append(number)
            time.sleep(0.002)

        queued = [asyncio.create_task(lane.call(one_after_the_other, number)) for number in range(12)]
        await spell(0.01)
        ended.set()
        await asyncio.gather(*computing, *queued)
        assert all(abs(place - number) <= 2 for place, number in enumerate(served)), "two are served side by side"

    run(visit)


async def only_two_compute(lane: Lane) -> None:
    """Assert that two may compute, neither fewer nor more."""
    ended = threading.Event()
    computing = [asyncio.create_task(lane.call(compute, ended)) for _ in range(3)]
    await spell()
    at_work = lane._threads._begun
    assert len(at_work) == 2
    ended.set()
    await asyncio.gather(*computing)
