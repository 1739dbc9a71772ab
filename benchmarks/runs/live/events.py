"""Events of a run: their ids and payloads, and the history of them in the database."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypedDict, TypeVar
from uuid import UUID

from django.db.models import Q, QuerySet

from benchmarks.models import Observation, ObservationKind, PoolSample, Run, Sample
from benchmarks.models.metrics import SAMPLE_KEYS

Row = Sample | PoolSample | Observation
AnyRow = TypeVar("AnyRow", Sample, PoolSample, Observation)
Position = tuple[int, int]  # attempt, seq
Figures = dict[str, float | int | None]

BEGINNING = "0-0"
END_SEQ = 2_147_483_647  # the end comes after all other events of an attempt, whichever process writes it
SAMPLE_FIELDS = ("t", *SAMPLE_KEYS)
OBSERVATION_EVENTS: dict[str, str] = {
    ObservationKind.POOLER: "pooler",
    ObservationKind.SERVER: "waits",
    ObservationKind.HOST: "host",
    ObservationKind.GENERATOR: "generator",
}
STATE_FIELDS = (
    *("status", "progress_percent", "attempt", "started_at", "load_began_at", "cancel_requested_at"),
    "summary",
)
POOL_FIELDS = ("t", "cl_active", "cl_waiting", "sv_active", "sv_idle", "maxwait_ms")


class State(TypedDict):
    """The payload of a `state` event; times in ISO 8601. `stages`: how many stages of its load have begun."""

    status: str
    progress_percent: float | None
    attempt: int
    started_at: str | None
    load_began_at: str | None
    stages: int
    cancel_requested: bool


@dataclass(frozen=True)
class Event:
    """One event of a run: `sample pool pooler waits host generator state log` or `end`; `id` is `ATTEMPT-SEQ`."""

    name: str
    id: str
    payload: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def position(self) -> Position:
        """Its place in the order of events, (attempt, seq)."""
        return position(self.id)

    @cached_property
    def wire(self) -> bytes:
        """Its text in an event stream; made once, whoever it is sent to."""
        text = json.dumps(self.payload, allow_nan=False, separators=(",", ":"))
        return f"id: {self.id}\nevent: {self.name}\ndata: {text}\n\n".encode()


def event_id(attempt: int, seq: int) -> str:
    """Return the id of an event in the stream and on the wire."""
    return f"{attempt}-{seq}"


def position(id_: str) -> Position:
    """(attempt, seq) of an id; the beginning for anything that is none, since a browser may send what it likes."""
    attempt, _, seq = id_.partition("-")
    if not (attempt.isascii() and attempt.isdigit() and seq.isascii() and seq.isdigit() and len(id_) <= 40):
        return (0, 0)
    return (min(int(attempt), END_SEQ), min(int(seq), END_SEQ))


def stream_key(run_id: UUID | str) -> str:
    """Return the key of the run's stream in Redis."""
    return f"pooldeck:run:{run_id}:events"


def _row(names: Iterable[str], row: object) -> Figures:
    return {name: getattr(row, name) for name in names}


def sample_payload(sample: Sample) -> Figures:
    """Return the payload of a sample: `t` and the figures of the registry."""
    return _row(SAMPLE_FIELDS, sample)


def pool_payload(sample: PoolSample) -> Figures:
    """Return `t cl_active cl_waiting sv_active sv_idle maxwait_ms`."""
    return _row(POOL_FIELDS, sample)


def observation_event(observation: Observation) -> Event:
    """Return the event of an observation: `t` and its figures."""
    return Event(
        OBSERVATION_EVENTS[observation.kind],
        event_id(observation.attempt, observation.seq),
        {"t": observation.t, **observation.figures},
    )


def row_event(row: Row) -> Event:
    """Return the live event for a sample or observation of a run."""
    if isinstance(row, Observation):
        return observation_event(row)
    name, payload = ("sample", sample_payload(row)) if isinstance(row, Sample) else ("pool", pool_payload(row))
    return Event(name, event_id(row.attempt, row.seq), payload)


def state_payload(run: Run) -> State:
    """Return the state of a run, for the event and to be compared."""
    return {
        "status": str(run.status),
        "progress_percent": run.progress_percent,
        "attempt": run.attempt,
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "load_began_at": run.load_began_at.isoformat() if run.load_began_at else None,
        "stages": len(run.summary.get("stages", [])),
        "cancel_requested": run.cancel_requested_at is not None,
    }


def end_of(run: Run) -> Event:
    """Return the event that a finished run ends with."""
    payload = {"status": str(run.status), "validity": str(run.validity), "reasons": run.reasons, "error": run.error}
    return Event("end", event_id(run.attempt, END_SEQ), payload)


def history(run: Run, after: str = BEGINNING, at_most: int | None = None) -> list[Event]:
    """Return the stored events of the run after that id, the oldest first, with its end once it has one.

    With `at_most` it is so many, the oldest ones.
    """
    at = position(after)
    events = _in_order(
        [
            *_after(run.samples.all(), *at)[:at_most],
            *_after(run.pool_samples.all(), *at)[:at_most],
            *_after(run.observations.all(), *at)[:at_most],
        ]
    )
    return _with_end(run, at, events)[:at_most]


def newest(run: Run, after: str, at_most: int) -> list[Event]:
    """Return the newest of the stored events after that id, in order, with its end once it has one."""
    at = position(after)
    events = _in_order(
        [
            *_after(run.samples.all(), *at).reverse()[:at_most],
            *_after(run.pool_samples.all(), *at).reverse()[:at_most],
            *_after(run.observations.all(), *at).reverse()[:at_most],
        ]
    )
    return _with_end(run, at, events)[-at_most:]


def _in_order(rows: Iterable[Row]) -> list[Event]:
    return sorted(map(row_event, rows), key=lambda event: event.position)


def _with_end(run: Run, at: Position, events: list[Event]) -> list[Event]:
    return [*events, end_of(run)] if run.is_final and end_of(run).position > at else events


def _after(rows: QuerySet[AnyRow], attempt: int, seq: int) -> QuerySet[AnyRow]:
    return rows.filter(Q(attempt=attempt, seq__gt=seq) | Q(attempt__gt=attempt))
