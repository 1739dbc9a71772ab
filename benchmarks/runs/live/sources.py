"""Where a run's events are read: the rows in the database, and its stream in Redis, which has some that no row has.

All reads but that of the coming events are done by a few threads, whoever they are for.
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar
from uuid import UUID

from django.db import close_old_connections

from benchmarks.models import Run
from benchmarks.runs.live import events
from benchmarks.runs.live.events import Event, Position, State, event_id, position, state_payload, stream_key
from core.lib import redis_client
from core.lib.redis_client import Breaker

T = TypeVar("T")
BLOCK_MS = 5_000
ANSWERS_WITHIN_S = BLOCK_MS / 1000 + 5
LATEST = "+"  # XRANGE: up to the last one
_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")
_breaker = Breaker()


@dataclass(frozen=True)
class Snapshot:
    """A run's state, and its events after `since`, in order and without a gap."""

    state: State
    since: Position
    events: list[Event]


async def newest(run_id: UUID | str, after: str, at_most: int) -> Snapshot:
    """Return the run's state and its newest events after that id; raises `Run.DoesNotExist`."""
    return await _in_thread(lambda: _newest(run_id, after, at_most))


async def oldest(run_id: UUID | str, after: str, at_most: int) -> list[Event]:
    """Return the run's oldest events after that id, none where there is none yet; raises `Run.DoesNotExist`."""
    return await _in_thread(lambda: _oldest(run_id, after, at_most))


class StreamReader:
    """A reader of a run's stream with a connection of its own, on which it waits."""

    def __init__(self, run_id: UUID | str) -> None:
        self._key = stream_key(run_id)
        self._client = redis_client.asynchronous()

    async def read(self, after: str, block_ms: int = BLOCK_MS) -> list[Event] | None:
        """Return the events after that id, waiting `block_ms` for one; None where Redis is away."""
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                answer: Any = await self._client.xread({self._key: after}, count=1000, block=block_ms)
        except redis_client.ERRORS:
            return None
        return [_decoded(id_, fields) for _, entries in answer for id_, fields in entries]

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def has_no_gap(last: str, events: list[Event]) -> bool:
    """Test whether the events follow the last one without a gap; an end may come at any place."""
    places = [position(last), *(event.position for event in events if event.name != "end")]
    return all(one[0] == two[0] and two[1] == one[1] + 1 for one, two in pairwise(places))


async def _in_thread(read: Callable[[], T]) -> T:
    """Return the result of a reading function, run in one of the few reading threads."""

    def reading() -> T:
        close_old_connections()
        try:
            return read()
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_readers, reading)


def _newest(run_id: UUID | str, after: str, at_most: int) -> Snapshot:
    run = Run.objects.get(pk=run_id)
    stored = events.newest(run, after, at_most)
    published = _published(run_id, after, at_most, newest_first=True)[::-1]
    cut = [found[0].position for found in (stored, published) if len(found) == at_most]
    since = max([position(after), *((attempt, seq - 1) for attempt, seq in cut)])
    return Snapshot(state_payload(run), since, [one for one in _merged(stored, published) if one.position > since])


def _oldest(run_id: UUID | str, after: str, at_most: int) -> list[Event]:
    stored = events.history(Run.objects.get(pk=run_id), after, at_most)
    published = _published(run_id, after, at_most, newest_first=False)
    until = [found[-1].position for found in (stored, published) if len(found) == at_most]
    return [one for one in _merged(stored, published) if not until or one.position <= min(until)]


def _published(run_id: UUID | str, after: str, at_most: int, *, newest_first: bool) -> list[Event]:
    """Return events of the run's stream after that id; none where Redis is away."""
    if _breaker.is_open:
        return []
    attempt, seq = position(after)
    key, first = stream_key(run_id), event_id(attempt, seq + 1)
    try:
        client = redis_client.shared()
        if newest_first:
            entries: Any = client.xrevrange(key, LATEST, first, count=at_most)
        else:
            entries = client.xrange(key, first, LATEST, count=at_most)
    except redis_client.ERRORS:
        _breaker.trip()
        return []
    _breaker.reset()
    return [_decoded(id_, fields) for id_, fields in entries]


def _decoded(id_: bytes, fields: dict[bytes, bytes]) -> Event:
    return Event(fields[b"event"].decode(), id_.decode(), json.loads(fields[b"payload"]))


def _merged(stored: list[Event], published: list[Event]) -> list[Event]:
    """Merge both in order, without duplicates."""
    return sorted({event.id: event for event in [*stored, *published]}.values(), key=lambda event: event.position)
