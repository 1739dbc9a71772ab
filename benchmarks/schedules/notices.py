"""Queues and sends the notices of schedules, over each configured channel; one that fails is sent again later."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.models import NoticeKind, Schedule, ScheduleNotice
from core.lib.chat_services import Urgency
from pools.models import Severity
from pools.monitoring import channels, notice_delivery
from pools.monitoring.letters import LISTED_AT_MOST, EventMessage, Letter

AT_MOST = 200  # notices of one message


@dataclass(frozen=True)
class ScheduleLetter(Letter):
    """One message about schedules: the changes that nights have shown, or the week of each."""

    title: str = ""

    @property
    def subject(self) -> str:
        return self.title

    @property
    def urgency(self) -> Urgency:
        """How services mark it: a week is no warning."""
        return Urgency.INFO if self.is_of_week else Urgency.WARNING

    @property
    def is_of_week(self) -> bool:
        """True if it sums up the week of its schedules."""
        return any(one["moment"] == NoticeKind.WEEK for one in self.events)

    def text(self, at_most: int = LISTED_AT_MOST) -> str:
        """Return its body, which lists so many schedules; their pages have the rest."""
        lines = [f"{one['title']}\n{one['message']}\n{one['url']}" for one in self.events[:at_most]]
        if (unlisted := len(self.events) - at_most) > 0:
            text = ngettext(
                "%(count)s more is on the pages of the schedules.",
                "%(count)s more are on the pages of the schedules.",
                unlisted,
            )
            lines.append(text % {"count": unlisted})
        return "\n\n".join(lines)


def queue(
    schedule: Schedule,
    kind: NoticeKind,
    since: datetime,
    title: str,
    message: str,
    *,
    metric: str = "",
    value: float | None = None,
) -> None:
    """Queue a notice over each configured channel, after its quiet hours; what was queued before stays as it is."""
    now = timezone.now()
    words = {"title": title, "message": message, "value": value, "metric": metric}
    rows = [
        ScheduleNotice(
            schedule=schedule,
            kind=kind,
            since=since,
            channel=channel.code,
            due_at=channel.quiet_until_after(now) or now,
            **words,
        )
        for channel in channels.configured()
    ]
    ScheduleNotice.objects.bulk_create(rows, ignore_conflicts=True)


def send_due() -> None:
    """Send what is due: over each channel one message of changes, and one with the weeks of all schedules."""
    for channel in channels.configured():
        for kind in NoticeKind:
            if notices := _claim(channel.code, kind):
                _send(channel.code, kind, notices)


def _claim(channel: str, kind: str) -> list[ScheduleNotice]:
    """Claim the notices that are due, so that no other worker sends them."""
    batch, due = uuid.uuid4(), notice_delivery.due(ScheduleNotice.objects.filter(channel=channel, kind=kind))
    with transaction.atomic():
        chosen = list(due.values_list("pk", flat=True)[:AT_MOST])
        notice_delivery.claim(due.filter(pk__in=chosen), batch)
    return list(ScheduleNotice.objects.filter(batch=batch).select_related("schedule"))


def _send(channel: str, kind: NoticeKind, notices: Sequence[ScheduleNotice]) -> None:
    rows = ScheduleNotice.objects.filter(pk__in=[notice.pk for notice in notices])
    attempts = max(notice.attempts for notice in notices)
    notice_delivery.send(rows, channel, [letter(kind, notices)], attempts)


def letter(kind: NoticeKind, notices: Sequence[ScheduleNotice]) -> Letter:
    """Return the message of notices of one kind; its id is the same at every attempt to send these."""
    messages = [as_json(notice) for notice in notices]
    key = "pooldeck:" + ",".join(str(notice.pk) for notice in notices)
    return ScheduleLetter(uuid.uuid5(uuid.NAMESPACE_URL, key), messages, title=_title(kind, notices))


def _title(kind: NoticeKind, notices: Sequence[ScheduleNotice]) -> str:
    count = len(notices)
    if kind == NoticeKind.WEEK:
        text = ngettext("Pooldeck: the week of %(count)s schedule", "Pooldeck: the week of %(count)s schedules", count)
        return text % {"count": count}
    if count == 1:
        return _("Pooldeck: %(title)s") % {"title": " ".join(notices[0].title.split())}
    text = ngettext(
        "Pooldeck: %(count)s level changed for the worse", "Pooldeck: %(count)s levels changed for the worse", count
    )
    return text % {"count": count}


def as_json(notice: ScheduleNotice) -> EventMessage:
    """Return a notice as webhooks receive it, in the shape of an event about its schedule."""
    schedule = notice.schedule
    page = "schedule-trend" if notice.kind == NoticeKind.WORSE else "schedule-detail"
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"pooldeck:{notice.pk}")),
        "moment": notice.kind,
        "kind": "trend",
        "title": notice.title,
        "severity": str(Severity.WARNING),
        "subject": {"type": "schedule", "id": str(schedule.pk), "name": schedule.name},
        "value": notice.value,
        "message": notice.message,
        "opened_at": notice.since.isoformat(),
        "closed_at": None,
        "url": f"{settings.PUBLIC_URL}{reverse(page, args=[schedule.pk])}",
    }
