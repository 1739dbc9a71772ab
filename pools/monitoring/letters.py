"""The messages about events: their subject, their lines, and how urgent they are; pure."""

from dataclasses import dataclass
from typing import NotRequired, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.lib.chat_services import Urgency
from pools.models import ApprovalMoment, Moment, Severity, SubjectType

MOMENTS = dict(Moment.choices + ApprovalMoment.choices)
LISTED_AT_MOST = 50  # events that an e-mail lists in full


class Subject(TypedDict):
    """The cluster, pooler, pool or entry that an event is about."""

    type: str
    id: str
    name: str


class EventMessage(TypedDict):
    """An event as webhooks receive it; times are ISO 8601 with zone."""

    id: str
    moment: str
    kind: str
    title: str
    severity: str
    subject: Subject
    value: float | None
    message: str
    opened_at: str | None
    closed_at: str | None
    url: str
    times: NotRequired[int]  # that an event of this kind opened for the subject within a day, this one included
    since: NotRequired[str]  # when the first of these opened


@dataclass(frozen=True)
class Letter:
    """One message: a JSON object for each event, newest last; `id` is the same at every attempt."""

    id: UUID
    events: list[EventMessage]
    is_test: bool = False
    is_digest: bool = False  # of what quiet hours held back
    has_one_cause: bool = False  # all events are of one pooler or cluster
    to: list[str] | None = None  # mailed to these; None: to whom the environment names

    @property
    def subject(self) -> str:
        if self.is_test:
            return _("Pooldeck: a test message")
        if self.is_digest:
            text = ngettext(
                "Pooldeck: %(count)s message was held back in quiet hours",
                "Pooldeck: %(count)s messages were held back in quiet hours",
                len(self.events),
            )
            return text % {"count": len(self.events)}
        if len(self.events) == 1:
            return _("Pooldeck: %(moment)s: %(title)s (%(type)s %(name)s)") % _params(self.events[0])
        return self._subject_of_several()

    def _subject_of_several(self) -> str:
        """Return the subject of several events: of one cause, its most severe one leads."""
        if self.has_one_cause:
            text = ngettext(
                "Pooldeck: %(moment)s: %(title)s (%(type)s %(name)s), and %(count)s more",
                "Pooldeck: %(moment)s: %(title)s (%(type)s %(name)s), and %(count)s more",
                len(self.events) - 1,
            )
            return text % (_params(self._leading) | {"count": len(self.events) - 1})
        opened = sum(one["moment"] == "opened" for one in self.events)
        counts = {"opened": opened, "closed": len(self.events) - opened}
        return _("Pooldeck: events opened: %(opened)s, closed: %(closed)s") % counts

    @property
    def _leading(self) -> EventMessage:
        """The first of those that still go on, a critical one before others."""
        return min(self.events, key=lambda one: (one["moment"] != "opened", one["severity"] != Severity.CRITICAL))

    @property
    def urgency(self) -> Urgency:
        """How services mark it: as over once nothing in it goes on."""
        if self.is_test or self.is_digest:
            return Urgency.INFO
        opened = [one for one in self.events if one["moment"] != "closed"]
        if not opened:
            return Urgency.SUCCESS
        return Urgency.FAILURE if any(one["severity"] == Severity.CRITICAL for one in opened) else Urgency.WARNING

    def text(self, at_most: int = LISTED_AT_MOST) -> str:
        """Return its body, which lists so many events; the events page has the rest."""
        lines = [_line(one) for one in self.events[:at_most]]
        if (unlisted := len(self.events) - at_most) > 0:
            text = ngettext(
                "%(count)s more event is on the events page.", "%(count)s more events are on the events page.", unlisted
            )
            lines.append(text % {"count": unlisted})
        return "\n\n".join(lines)


def _line(one: EventMessage) -> str:
    lines = [
        _("%(moment)s at %(at)s, %(severity)s: %(title)s: %(type)s %(name)s") % _params(one),
        one["message"],
        _repeated(one),
        one["url"],
    ]
    return "\n".join(line for line in lines if line)


def _repeated(one: EventMessage) -> str:
    """Return how often it opened within a day; empty for the first time."""
    if one.get("times", 1) < 2:
        return ""
    return _("It has opened %(times)s times since %(since)s.") % {"times": one["times"], "since": one["since"]}


def _params(one: EventMessage) -> dict[str, object]:
    """Return the placeholders of an event's sentences, its codes as their labels."""
    return {
        "moment": MOMENTS[one["moment"]],
        "at": one["closed_at"] or one["opened_at"],
        "severity": Severity(one["severity"]).label,
        "title": one["title"],
        "type": SubjectType(one["subject"]["type"]).label,
        "name": one["subject"]["name"],
    }
