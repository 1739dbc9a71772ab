"""Follows a run's events: its stream in Redis, with gaps filled from the database."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from itertools import pairwise
from typing import Any, TypeVar, cast
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from benchmarks.models import Run, Status
from benchmarks.runs.live.events import BEGINNING, Event, State, event_id, history, position, state_payload, stream_key
from core.lib import redis_client

T = TypeVar("T")
LIFE = (Status.QUEUED, Status.STARTING, Status.RUNNING)  # then one of the final states
BLOCK_MS = 5_000
ANSWERS_WITHIN_S = BLOCK_MS / 1000 + 5
WITHOUT_REDIS_S = 0.5
# A few threads read the database for all viewers, never one for each.
_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")


async def _from_database(read: Callable[[], T]) -> T:
    """Return the result of a reading function, run in one of the few reading threads."""

    def reading() -> T:
        close_old_connections()
        try:
            return read()
        finally:
            close_old_connections()

    return await sync_to_async(reading, thread_sensitive=False, executor=_readers)()


def _poll(run_id: UUID | str, after: str) -> list[Event]:
    """Return the run's present state (under the viewer's last id), then its history after that id."""
    run = Run.objects.get(pk=run_id)
    return [Event("state", after, state_payload(run)), *history(run, after)]


class _Stream:
    """One viewer's reader of a run's stream."""

    def __init__(self, run_id: UUID | str) -> None:
        self._key = stream_key(run_id)
        self._client = redis_client.asynchronous()

    async def read(self, after: str, block_ms: int | None) -> list[Event] | None:
        """Return the events after that id, waiting `block_ms` for one; None where Redis is away."""
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                answer: Any = await self._client.xread({self._key: after}, count=1000, block=block_ms)
        except redis_client.ERRORS:
            return None
        return [_decoded(id_, fields) for _, entries in answer for id_, fields in entries]

    async def aclose(self) -> None:
        await self._client.aclose()


def _decoded(id_: bytes, fields: dict[bytes, bytes]) -> Event:
    return Event(fields[b"event"].decode(), id_.decode(), json.loads(fields[b"payload"]))


def _has_no_gap(last: str, events: list[Event]) -> bool:
    """Test whether the events follow the last one without a gap; an end may come at any place."""
    places = [position(last), *(event.position for event in events if event.name != "end")]
    return all(one[0] == two[0] and two[1] == one[1] + 1 for one, two in pairwise(places))


class _SentState:
    """The furthest state sent to a viewer: a state never goes back, so an older one is left out."""

    def __init__(self) -> None:
        self._furthest: tuple[Any, ...] = ()

    def moves_to(self, state: State) -> bool:
        """Test whether the state is further than all sent before; it counts as sent then."""
        place = (
            state["attempt"],
            LIFE.index(state["status"]) if state["status"] in LIFE else len(LIFE),
            state["load_began_at"] is not None,
            state["progress_percent"] or 0.0,
            state["cancel_requested"],
        )
        further = place > self._furthest
        self._furthest = max(place, self._furthest)
        return further


async def follow(run_id: UUID | str, after: str = BEGINNING) -> AsyncGenerator[Event, None]:
    """Yield the run's events after that id, each once and in order, as they come, until its end.

    Gaps of the stream (before this viewer came, or while Redis was away) are filled from the database, which is also
    queried whenever the stream is silent, so that an end that could not be published is seen too.
    """
    stream, last, sent_state = _Stream(run_id), event_id(*position(after)), _SentState()
    try:
        async with aclosing(_batches(stream, run_id, last)) as batches:
            async for batch in batches:
                for event in batch:
                    if event.name == "state" and not sent_state.moves_to(cast("State", event.payload)):
                        continue
                    yield event
                    if event.name == "end":
                        return
    finally:
        await stream.aclose()


async def _batches(stream: _Stream, run_id: UUID | str, last: str) -> AsyncGenerator[list[Event], None]:
    """Yield batches of new events in order; an empty stream yields the state in the database."""
    live: list[Event] | None = None
    while True:
        known: list[Event] = []
        if not live or not _has_no_gap(last, live):
            known = await _from_database(lambda after=last: _poll(run_id, after))  # type: ignore[misc]
            live = await stream.read(last, None)
        batch = _merged(known, live or [])
        yield batch
        last = max([last, *(event.id for event in batch)], key=position)
        if live is None:
            await asyncio.sleep(WITHOUT_REDIS_S)
        else:
            live = await stream.read(last, BLOCK_MS)


def _merged(known: list[Event], live: list[Event]) -> list[Event]:
    """Merge both in order, without duplicates."""
    states, rows = [e for e in known if e.name == "state"], [e for e in known if e.name != "state"]
    return states + sorted({event.id: event for event in [*rows, *live]}.values(), key=lambda event: event.position)
