"""Opens and closes events by comparing each value with its thresholds; safe when several workers do it at once."""

import logging
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from pools.models import Cluster, Entry, Event, EventKind, Moment, Notice, Pool, Pooler, SubjectType
from pools.monitoring import channels, hysteresis, metric_values, thresholds
from pools.monitoring.core_watch import ProcessUse
from pools.monitoring.hysteresis import Move
from pools.monitoring.metric_values import NO_LOG_READ, NOTHING_KNOWN, Value
from pools.monitoring.refused_logins import Refusals
from pools.monitoring.sampler import ConsoleSnapshot
from pools.monitoring.thresholds import Bound

logger = logging.getLogger(__name__)
NOUNS = {SubjectType.CLUSTER: Cluster, SubjectType.POOLER: Pooler, SubjectType.POOL: Pool, SubjectType.ENTRY: Entry}


def judge(
    snapshots: Mapping[UUID, ConsoleSnapshot],
    cores: Mapping[UUID, ProcessUse] = NOTHING_KNOWN,
    logins: Mapping[UUID, Refusals] = NO_LOG_READ,
) -> None:
    """Compare every value with its thresholds; close events of subjects that are gone or no longer watched."""
    judge_values(metric_values.all_values(snapshots, cores, logins), thresholds.bounds())


def judge_values(values: Iterable[Value], bounds: Mapping[EventKind, Bound]) -> None:
    """Compare these values with their thresholds; the events of a subject without a value stay as they are."""
    now = timezone.now()
    unclosed = {(event.kind, event.subject_id): event for event in Event.objects.filter(closed_at=None)}
    for value in values:
        event, bound = unclosed.pop(value.key, None), bounds[value.kind]
        _apply_move(_step(bound, value, event, now), bound, value, event, now)
    for event in _events_of_removed(unclosed.values()):
        _end(event, now)


def _step(bound: Bound, value: Value, event: Event | None, now: datetime) -> Move:
    is_open = event is not None and event.is_open
    if not bound.enabled:
        return Move.CLOSE if is_open else Move.FORGET if event else Move.NONE
    return hysteresis.move(bound.rule, value.value, now, event.crossed_at if event else None, is_open)


def _apply_move(step: Move, bound: Bound, value: Value, event: Event | None, now: datetime) -> None:
    if step in (Move.BREW, Move.OPEN) and event is None:
        _note_crossing(bound, value, now)
    if step == Move.OPEN:
        _open(value, now)
    elif event is not None and step in (Move.CLOSE, Move.FORGET):
        _end(event, now)


def _note_crossing(bound: Bound, value: Value, now: datetime) -> None:
    """Save when the threshold was crossed; an event that another worker saved first stays."""
    row = Event(
        kind=value.kind,
        severity=bound.watch.severity,
        subject_type=value.subject_type,
        subject_id=value.subject_id,
        subject_name=value.subject_name,
        pooler_id=value.pooler_id,
        value=value.value,
        message=value.message,
        crossed_at=now,
    )
    Event.objects.bulk_create([row], ignore_conflicts=True)


def _open(value: Value, now: datetime) -> None:
    """Open the subject's event and queue its notices; only one worker succeeds."""
    brewing = Event.objects.filter(kind=value.kind, subject_id=value.subject_id, opened_at=None, closed_at=None)
    with transaction.atomic():
        event = brewing.first()
        columns = {"opened_at": now, "value": value.value, "message": value.message}
        if event is None or not brewing.filter(pk=event.pk).update(**columns):
            return
        Notice.of([event], Moment.OPENED, channels.configured())
    logger.warning("event %s opened: %s %s: %s", event.pk, value.kind, value.subject_name, value.message)


def _end(event: Event, now: datetime) -> None:
    """Close an open event and queue its notices; one that never opened is deleted."""
    if not event.is_open:
        Event.objects.filter(pk=event.pk, opened_at=None).delete()
        return
    with transaction.atomic():
        if not Event.objects.filter(pk=event.pk, closed_at=None).update(closed_at=now):
            return
        Notice.of([event], Moment.CLOSED, channels.configured())
    logger.info("event %s closed: %s %s", event.pk, event.kind, event.subject_name)


def _events_of_removed(events: Collection[Event]) -> list[Event]:
    """Return the events whose subject no longer exists, with one query for each type of subject."""
    gone = []
    for subject_type, model in NOUNS.items():
        of_type = [event for event in events if event.subject_type == subject_type]
        existing = set(
            model._default_manager.filter(pk__in={event.subject_id for event in of_type}).values_list("pk", flat=True)
        )
        gone += [event for event in of_type if event.subject_id not in existing]
    return gone
