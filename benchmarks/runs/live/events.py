"""A run's events: published to its Redis stream, read back from the database, followed by browsers."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar
from uuid import UUID

import redis
import redis.asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.db.models import Q, QuerySet
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from benchmarks.models import Look, LookKind, PoolSample, Run, Sample, Status

log = logging.getLogger(__name__)

T = TypeVar("T")
Row = Sample | PoolSample | Look
AnyRow = TypeVar("AnyRow", Sample, PoolSample, Look)
Position = tuple[int, int]  # attempt, seq

BEGINNING = "0-0"
LIFE = (Status.QUEUED, Status.STARTING, Status.RUNNING)  # then one of the final states
END_SEQ = 2_147_483_647  # the end comes after all that an attempt can say, whoever writes it
STREAM_SECONDS = 24 * 3600
STREAM_LENGTH = 20_000  # of the newest events; older ones stand in the database
REDIS_TIMEOUT_S = 1.0
REDIS_REST_S = 1.0  # after a failure, so that a missing Redis costs a run one timeout a second at the most
BLOCK_MS = 5_000
WITHOUT_REDIS_S = 0.5
_PERCENTILES = ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms")
_SAMPLE_FIGURES = ("t", "tps", "latency_ms", "stddev_ms", "failed", "lag_ms", "skipped", "retried", "retries")
SAMPLE_FIELDS = (*_SAMPLE_FIGURES, *_PERCENTILES)
LOOK_EVENTS: dict[str, str] = {
    LookKind.POOLER: "pooler",
    LookKind.SERVER: "waits",
    LookKind.HOST: "host",
    LookKind.GENERATOR: "generator",
}
POOL_FIELDS = ("t", "cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")
# The database is read for watchers here: a few threads for all of them, never one for each.
_readers = ThreadPoolExecutor(max_workers=4, thread_name_prefix="live")


@dataclass(frozen=True)
class Event:
    """One event of a run: `sample pool pooler waits host generator state log` or `end`; `id` is `ATTEMPT-SEQ`."""

    name: str
    id: str
    payload: dict[str, Any] = field(default_factory=dict)

    @property
    def position(self) -> Position:
        """Its place in the order of events."""
        return position(self.id)


def event_id(attempt: int, seq: int) -> str:
    """The id of an event in the stream and on the wire."""
    return f"{attempt}-{seq}"


def position(id_: str) -> Position:
    """(attempt, seq) of an id; the beginning for anything that is none, since a browser may send what it likes."""
    attempt, _, seq = id_.partition("-")
    if not (attempt.isascii() and attempt.isdigit() and seq.isascii() and seq.isdigit() and len(id_) <= 40):
        return (0, 0)
    return (min(int(attempt), END_SEQ), min(int(seq), END_SEQ))


def _key(run_id: UUID | str) -> str:
    return f"pooldeck:run:{run_id}:events"


# Writing ----------------------------------------------------------------------------------------------------------


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=REDIS_TIMEOUT_S,
        socket_connect_timeout=REDIS_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


class Publisher:
    """Writes events to Redis when it is there; without it a run goes on, and its watchers read the database."""

    def __init__(self) -> None:
        self._rest_until = 0.0
        self._failing = False

    def publish(self, run_id: UUID | str, *events: Event) -> bool:
        """Append events under their own ids, in one round trip; False when Redis could not take them."""
        if time.monotonic() < self._rest_until:
            return False
        try:
            with _client().pipeline(transaction=False) as pipe:
                for event in events:
                    fields: Any = {"event": event.name, "payload": json.dumps(event.payload, allow_nan=False)}
                    pipe.xadd(_key(run_id), fields, id=event.id, maxlen=STREAM_LENGTH, approximate=True)
                pipe.expire(_key(run_id), STREAM_SECONDS)
                pipe.execute()
        except (redis.RedisError, OSError) as error:
            self._note_failure(run_id, error)
            return False
        self._failing = False
        return True

    def _note_failure(self, run_id: UUID | str, error: Exception) -> None:
        if isinstance(error, redis.ResponseError):  # an answer all the same: say, an id that another end passed
            log.warning("run %s: Redis refused an event: %s", run_id, error)
            return
        self._rest_until = time.monotonic() + REDIS_REST_S
        if not self._failing:
            log.warning("run %s: Redis can't be reached, its watchers read the database meanwhile: %s", run_id, error)
        self._failing = True


_publisher = Publisher()


def publish(run_id: UUID | str, event: str, id: str, payload: dict[str, Any]) -> bool:
    """Append one event to the run's stream; False (and one line in the log) when Redis is away."""
    return _publisher.publish(run_id, Event(event, id, payload))


def publish_all(run_id: UUID | str, events: Iterable[Event]) -> bool:
    """Append events to the run's stream at once; False (and one line in the log) when Redis is away."""
    return _publisher.publish(run_id, *events)


def publish_end(run: Run) -> bool:
    """Tell watchers that the run has its final state."""
    end = end_of(run)
    return publish(run.pk, end.name, end.id, end.payload)


# What the database knows --------------------------------------------------------------------------------------------


def _row(names: Iterable[str], row: object) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def sample_payload(sample: Sample) -> dict[str, Any]:
    """The contract's sample: `t tps latency_ms stddev_ms failed lag_ms skipped retried retries`."""
    return _row(SAMPLE_FIELDS, sample)


def pool_payload(sample: PoolSample) -> dict[str, Any]:
    """`t cl_active cl_waiting sv_active sv_idle maxwait_ms`."""
    return _row(POOL_FIELDS, sample)


def look_event(look: Look) -> Event:
    """The event of that kind of look: `t` and its figures."""
    return Event(LOOK_EVENTS[look.kind], event_id(look.attempt, look.seq), {"t": look.t, **look.figures})


def row_event(row: Row) -> Event:
    """The event of one of a run's rows."""
    if isinstance(row, Look):
        return look_event(row)
    name, payload = ("sample", sample_payload(row)) if isinstance(row, Sample) else ("pool", pool_payload(row))
    return Event(name, event_id(row.attempt, row.seq), payload)


def state_payload(run: Run) -> dict[str, Any]:
    """`status progress_percent attempt started_at load_began_at cancel_requested`; times in ISO 8601 with zone."""
    return {
        "status": str(run.status),
        "progress_percent": run.progress_percent,
        "attempt": run.attempt,
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "load_began_at": run.load_began_at.isoformat() if run.load_began_at else None,
        "cancel_requested": run.cancel_requested_at is not None,
    }


def end_of(run: Run) -> Event:
    """The event that a finished run ends with."""
    payload = {"status": str(run.status), "validity": str(run.validity), "reasons": run.reasons, "error": run.error}
    return Event("end", event_id(run.attempt, END_SEQ), payload)


def history(run: Run, after: str = BEGINNING) -> list[Event]:
    """What the database keeps of the run after that id, in order, with its end once it has one."""
    at = position(after)
    rows: list[Row] = [
        *_after(run.samples.all(), *at),
        *_after(run.pool_samples.all(), *at),
        *_after(run.looks.all(), *at),
    ]
    events = [*map(row_event, rows)]
    events.sort(key=lambda event: event.position)
    if run.is_final and end_of(run).position > at:
        events.append(end_of(run))
    return events


def _after(rows: QuerySet[AnyRow], attempt: int, seq: int) -> QuerySet[AnyRow]:
    return rows.filter(Q(attempt=attempt, seq__gt=seq) | Q(attempt__gt=attempt))


# Following ----------------------------------------------------------------------------------------------------------


async def _from_database(read: Callable[[], T]) -> T:
    """The answer of a reading function, from one of the few reading threads."""

    def reading() -> T:
        close_old_connections()
        try:
            return read()
        finally:
            close_old_connections()

    return await sync_to_async(reading, thread_sensitive=False, executor=_readers)()


def _look(run_id: UUID | str, after: str) -> list[Event]:
    """The run's present state (under the id the watcher has), then its history after that id."""
    run = Run.objects.get(pk=run_id)
    return [Event("state", after, state_payload(run)), *history(run, after)]


class _Stream:
    """One watcher's reading of a run's stream."""

    def __init__(self, run_id: UUID | str) -> None:
        self._key = _key(run_id)
        self._client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=BLOCK_MS / 1000 + 5,
            socket_connect_timeout=REDIS_TIMEOUT_S,
            retry=AsyncRetry(NoBackoff(), 0),
        )

    async def read(self, after: str, block_ms: int | None) -> list[Event] | None:
        """The events after that id, waiting for one when `block_ms` says so; None when Redis is away."""
        try:
            answer: Any = await self._client.xread({self._key: after}, count=1000, block=block_ms)
        except (redis.RedisError, OSError):
            return None
        return [_decoded(id_, fields) for _, entries in answer for id_, fields in entries]

    async def aclose(self) -> None:
        await self._client.aclose()


def _decoded(id_: bytes, fields: dict[bytes, bytes]) -> Event:
    return Event(fields[b"event"].decode(), id_.decode(), json.loads(fields[b"payload"]))


def _gapless(last: str, events: list[Event]) -> bool:
    """Whether the events follow the last one without a number left out; an end may come at any place."""
    places = [position(last), *(event.position for event in events if event.name != "end")]
    return all(one[0] == two[0] and two[1] == one[1] + 1 for one, two in pairwise(places))


class _Told:
    """How far the states told to a watcher got: a state never goes back, so an older one met later is left out."""

    def __init__(self) -> None:
        self._furthest: tuple[Any, ...] = ()

    def moves_to(self, state: dict[str, Any]) -> bool:
        """Whether the state is further than all told before; it is told then."""
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
    """The run's events after that id, each once and in order, as they come, until its end.

    What the stream lacks (before this watcher came, or while Redis was away) is filled in from the database, which
    is also asked whenever the stream is silent, so that an end that could not be published is seen too.
    """
    stream, last, told = _Stream(run_id), event_id(*position(after)), _Told()
    try:
        async with aclosing(_batches(stream, run_id, last)) as batches:
            async for batch in batches:
                for event in batch:
                    if event.name == "state" and not told.moves_to(event.payload):
                        continue
                    yield event
                    if event.name == "end":
                        return
    finally:
        await stream.aclose()


async def _batches(stream: _Stream, run_id: UUID | str, last: str) -> AsyncGenerator[list[Event], None]:
    """Batches of new events, in order; an empty stream gives the state that the database knows."""
    live: list[Event] | None = None
    while True:
        known: list[Event] = []
        if not live or not _gapless(last, live):
            known = await _from_database(lambda after=last: _look(run_id, after))  # type: ignore[misc]
            live = await stream.read(last, None)
        batch = _merged(known, live or [])
        yield batch
        last = max([last, *(event.id for event in batch)], key=position)
        if live is None:
            await asyncio.sleep(WITHOUT_REDIS_S)
        else:
            live = await stream.read(last, BLOCK_MS)


def _merged(known: list[Event], live: list[Event]) -> list[Event]:
    """Both in order, what stands in both once."""
    states, rows = [e for e in known if e.name == "state"], [e for e in known if e.name != "state"]
    return states + sorted({event.id: event for event in [*rows, *live]}.values(), key=lambda event: event.position)
