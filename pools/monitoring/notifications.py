"""Sends notices of events: all that is due over a channel in one message, retried later if it fails."""

import logging
import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from core.lib import private_text
from pools.models import Channel, Event, Moment, Notice
from pools.monitoring import channels
from pools.monitoring.channels import DeliveryFailed, EventMessage, Letter

logger = logging.getLogger(__name__)

AT_MOST = 200  # events of one message
LEASE = timedelta(seconds=60)  # longer than a channel may take; another worker takes over after it
FIRST_WAIT_S, LONGEST_WAIT_S = 15, 3600
ATTEMPTS = 20  # attempts over about half a day


def send_due() -> None:
    """Send one message over each channel that has notices due."""
    for channel in Channel:
        if batch := _claim(channel):
            _send(channel, batch)


def test(channel: str) -> str:
    """Send a test message over a channel; return why it failed, or an empty text."""
    try:
        channels.send(channel, Letter(uuid.uuid4(), [], is_test=True))
    except DeliveryFailed as error:
        return str(error)
    return ""


def _claim(channel: Channel) -> uuid.UUID | None:
    """Claim the notices that are due; those that failed together are sent again under their old id."""
    now, batch = timezone.now(), uuid.uuid4()
    due = Notice.objects.filter(channel=channel, sent_at=None, due_at__lte=now, attempts__lt=ATTEMPTS)
    with transaction.atomic():
        first = due.order_by("due_at", "pk").first()
        if first is None:
            return None
        again = due.filter(batch=first.batch) if first.batch else due.filter(batch=None)
        chosen = list(again.order_by("due_at", "pk").values_list("pk", flat=True)[:AT_MOST])
        batched = due.filter(pk__in=chosen, batch=first.batch)
        count = batched.update(batch=first.batch or batch, due_at=now + LEASE, attempts=F("attempts") + 1)
    return (first.batch or batch) if count else None


def _send(channel: Channel, batch: uuid.UUID) -> None:
    notices = list(Notice.objects.filter(batch=batch, sent_at=None).select_related("event").order_by("due_at", "pk"))
    letter = Letter(batch, [as_json(notice.event, Moment(notice.moment)) for notice in notices])
    rows = Notice.objects.filter(batch=batch)
    try:
        channels.send(channel, letter)
    except DeliveryFailed as error:
        attempts = max(notice.attempts for notice in notices)
        rows.update(due_at=timezone.now() + pause_after(attempts), error=str(error))
        logger.warning("%d events not sent by %s, attempt %d: %s", len(notices), channel, attempts, error)
    else:
        rows.update(sent_at=timezone.now(), error="")
        logger.info("%d events sent by %s", len(notices), channel)


def pause_after(attempts: int) -> timedelta:
    """Return how long what was not sent rests after so many attempts."""
    return timedelta(seconds=min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (attempts - 1)))


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
        "url": f"{settings.PUBLIC_URL}{event.get_absolute_url()}",
    }
