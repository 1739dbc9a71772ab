"""Publishes a run's events to its stream in Redis."""

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import redis

from benchmarks.models import Run
from benchmarks.runs.live.events import Event, end_of, stream_key
from core.lib import redis_client
from core.lib.redis_client import Breaker

log = logging.getLogger(__name__)

STREAM_SECONDS = 24 * 3600
STREAM_LENGTH = 20_000  # newest events that the stream keeps; older ones are in the database


class Publisher:
    """Writes events to Redis when it is there; without it a run goes on, and its viewers read the database."""

    def __init__(self) -> None:
        self._breaker = Breaker()

    def publish(self, run_id: UUID | str, *events: Event) -> bool:
        """Append events under their own ids, in one round trip; False when Redis could not take them."""
        if self._breaker.is_open:
            return False
        try:
            with redis_client.shared().pipeline(transaction=False) as pipe:
                for event in events:
                    fields: Any = {"event": event.name, "payload": json.dumps(event.payload, allow_nan=False)}
                    pipe.xadd(stream_key(run_id), fields, id=event.id, maxlen=STREAM_LENGTH, approximate=True)
                pipe.expire(stream_key(run_id), STREAM_SECONDS)
                pipe.execute()
        except redis_client.ERRORS as error:
            self._note_failure(run_id, error)
            return False
        self._breaker.reset()
        return True

    def _note_failure(self, run_id: UUID | str, error: Exception) -> None:
        if isinstance(
            error, redis.ResponseError
        ):  # Redis is there, but refused: the stream has a later id, for example
            log.warning("run %s: Redis refused an event: %s", run_id, error)
            return
        if self._breaker.trip():
            log.warning("run %s: Redis can't be reached, its viewers read the database: %s", run_id, error)


_publisher = Publisher()


def publish(run_id: UUID | str, event: str, id: str, payload: Mapping[str, object]) -> bool:
    """Append one event to the run's stream; False (and one line in the log) when Redis is away."""
    return _publisher.publish(run_id, Event(event, id, payload))


def publish_all(run_id: UUID | str, events: Iterable[Event]) -> bool:
    """Append events to the run's stream at once; False (and one line in the log) when Redis is away."""
    return _publisher.publish(run_id, *events)


def publish_end(run: Run) -> bool:
    """Publish to viewers that the run has its final state."""
    end = end_of(run)
    return publish(run.pk, end.name, end.id, end.payload)
