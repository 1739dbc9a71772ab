"""Sends notices of events: one message for each cause, retried later if it fails, a digest after quiet hours."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from core.lib import private_text
from pools.models import Event, Moment, Notice, NotificationChannel, Severity
from pools.monitoring import channels, notice_delivery
from pools.monitoring.channels import DeliveryFailed
from pools.monitoring.letters import EventMessage, Letter

AT_MOST = 200  # events of one message
MESSAGES_AT_ONCE = 10  # over one channel, so that others are served too
REPEATED_WITHIN = timedelta(days=1)


def send_due() -> None:
    """Send the messages that are due over each channel; in quiet hours those that must not wait."""
    for channel in channels.configured():
        _hold_back(channel, timezone.now())
        for _message in range(MESSAGES_AT_ONCE):
            batch = _claim(channel)
            if batch is None:
                break
            _send(channel, batch)


def test(code: str) -> str:
    """Send a test message over a channel; return why it failed, or an empty text."""
    try:
        channels.send(code, Letter(uuid.uuid4(), [], is_test=True))
    except DeliveryFailed as error:
        return str(error)
    return ""


def _unsent(channel: NotificationChannel) -> QuerySet[Notice]:
    return notice_delivery.unsent(Notice.objects.filter(channel=channel.code))


def _hold_back(channel: NotificationChannel, now: datetime) -> None:
    """Put off to the end of quiet hours what may wait; a message that began to be sent is sent on."""
    until = channel.quiet_until_after(now)
    if until is None:
        return
    may_wait = ~Q(event__severity=Severity.CRITICAL) if channel.urgent_passes else Q()
    waiting = _unsent(channel).filter(may_wait, batch=None, due_at__lt=until)
    waiting.update(due_at=until, is_held=True)


def _claim(channel: NotificationChannel) -> uuid.UUID | None:
    """Claim the notices of the next message; those that failed together are sent again under their old id."""
    now, batch = timezone.now(), uuid.uuid4()
    with transaction.atomic():
        first = _unsent(channel).filter(due_at__lte=now).order_by("due_at", "pk").first()
        if first is None:
            return None
        together = _together(channel, first, now)
        at_most = None if first.is_held else AT_MOST  # What was held back is one digest.
        chosen = list(together.order_by("due_at", "pk").values_list("pk", flat=True)[:at_most])
        count = notice_delivery.claim(together.filter(pk__in=chosen), first.batch or batch)
    return (first.batch or batch) if count else None


def _together(channel: NotificationChannel, first: Notice, now: datetime) -> QuerySet[Notice]:
    """Return the notices that are one message with the first: of its cause also those that came a moment ago."""
    unsent = _unsent(channel).filter(batch=first.batch)
    if first.batch or first.is_held or not channel.group_s:
        return unsent.filter(due_at__lte=now, is_held=first.is_held)
    return unsent.filter(cause=first.cause, is_held=False)


def _send(channel: NotificationChannel, batch: uuid.UUID) -> None:
    rows = Notice.objects.filter(batch=batch)
    notices = list(rows.filter(sent_at=None).select_related("event").order_by("due_at", "pk"))
    if not notices:  # the channel or the events were removed in between
        return
    attempts = max(notice.attempts for notice in notices)
    notice_delivery.send(rows, channel.code, [_letter(batch, notices)], attempts)


def _letter(batch: uuid.UUID, notices: Sequence[Notice]) -> Letter:
    counts = _repeats([notice.event for notice in notices])
    events = [as_json(notice.event, Moment(notice.moment)) for notice in notices]
    for notice, message in zip(notices, events, strict=True):
        times, since = counts.get((notice.event.kind, notice.event.subject_id), (1, None))
        if times > 1 and since and notice.moment == Moment.OPENED:
            message |= {"times": times, "since": since.isoformat()}
    has_one_cause = len({notice.cause or notice.pk for notice in notices}) == 1
    return Letter(batch, events, is_digest=any(one.is_held for one in notices), has_one_cause=has_one_cause)


def _repeats(events: Sequence[Event]) -> dict[tuple[str, uuid.UUID], tuple[int, datetime]]:
    """Return how often and since when an event of the same kind has opened for each subject within a day."""
    since = timezone.now() - REPEATED_WITHIN
    same = Event.objects.filter(
        kind__in={event.kind for event in events},
        subject_id__in={event.subject_id for event in events},
        opened_at__gte=since,
    )
    counted = same.order_by().values("kind", "subject_id").annotate(times=Count("pk"), first=Min("opened_at"))
    return {(row["kind"], row["subject_id"]): (row["times"], row["first"]) for row in counted}


def as_json(event: Event, moment: Moment) -> EventMessage:
    """Return an event as webhooks receive it; times are ISO 8601 with zone."""
    closed_at = event.closed_at if moment == Moment.CLOSED else None
    return {
        "id": str(event.pk),
        "moment": str(moment),
        "kind": event.kind,
        "title": event.get_kind_display(),
        "severity": event.severity,
        "subject": {"type": event.subject_type, "id": str(event.subject_id), "name": event.subject_name},
        "value": event.value,
        "message": private_text.for_admins(event.message),  # the operator named who is told
        "opened_at": event.opened_at.isoformat() if event.opened_at else None,
        "closed_at": closed_at.isoformat() if closed_at else None,
        "url": f"{settings.PUBLIC_URL}{event.log_url or event.get_absolute_url()}",
    }
