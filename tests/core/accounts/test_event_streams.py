"""The events of a stream until its caller's access ends."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from core.accounts.event_streams import _until


class Source:
    """Events of which the last one never comes, or fails to come; `closed` once nobody waits for it any more."""

    def __init__(self, *events: str, error: Exception | None = None) -> None:
        self.events, self.error, self.closed = events, error, False

    async def read(self) -> AsyncGenerator[str, None]:
        try:
            for event in self.events:
                yield event
            if self.error:
                raise self.error
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def gathered(source: Source, *, over_after: int | None = None, over_while_waiting: bool = False) -> list[str]:
    """What a reader gets; the access ends after so many events, or while it waits for one that never comes."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    if over_while_waiting:
        loop.call_later(0.05, over.set_result, None)
    found = []
    async with asyncio.timeout(5):
        async for event in _until(over, source.read()):
            found.append(event)
            if len(found) == over_after:
                over.set_result(None)
    return found


def test_a_stream_ends_while_it_waits_for_an_event() -> None:
    source = Source("one", "two")
    assert asyncio.run(gathered(source, over_while_waiting=True)) == ["one", "two"]
    assert source.closed


def test_no_event_comes_after_the_end_of_the_access() -> None:
    assert asyncio.run(gathered(Source("one", "two", "three"), over_after=2)) == ["one", "two"]


def test_a_stream_ends_with_its_events() -> None:
    async def few() -> list[str]:
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def two() -> AsyncGenerator[str, None]:
            yield "one"
            yield "two"

        return [event async for event in _until(over, two())]

    assert asyncio.run(few()) == ["one", "two"]


def test_a_time_out_of_the_events_is_no_end() -> None:
    with pytest.raises(TimeoutError, match="database"):
        asyncio.run(gathered(Source("one", error=TimeoutError("database"))))
