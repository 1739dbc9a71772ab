"""Notification channels for events: a webhook and e-mail, only to the addresses that the operator configured."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from smtplib import SMTPException
from typing import TypedDict
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.lib import webhooks
from pools.models import ApprovalMoment, Channel, Moment, Severity, SubjectType

ANSWER_WITHIN_S = 5  # a mail server
MOMENTS = dict(Moment.choices + ApprovalMoment.choices)
LISTED_AT_MOST = 50  # events that an e-mail lists in full


class DeliveryFailed(Exception):
    """A message was not delivered; the text gives the reason, without address and secret."""


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


@dataclass(frozen=True)
class Letter:
    """One message: a JSON object for each event, newest last; `id` is the same at every attempt."""

    id: UUID
    events: list[EventMessage]
    is_test: bool = False
    to: list[str] | None = None  # mailed to these; None: to whom the environment names

    @property
    def subject(self) -> str:
        if self.is_test:
            return _("Pooldeck: a test message")
        if len(self.events) == 1:
            return _("Pooldeck: %(moment)s: %(title)s (%(type)s %(name)s)") % _params(self.events[0])
        opened = sum(one["moment"] == "opened" for one in self.events)
        counts = {"opened": opened, "closed": len(self.events) - opened}
        return _("Pooldeck: events opened: %(opened)s, closed: %(closed)s") % counts


def configured() -> list[str]:
    """Return the channels for which the environment has an address."""
    has = {Channel.WEBHOOK: settings.WEBHOOK_URL, Channel.EMAIL: settings.EMAIL_HOST and settings.EMAIL_TO}
    return [channel.value for channel, address in has.items() if address]


def send(channel: str, letter: Letter) -> None:
    """Send a message once. Raises `DeliveryFailed`."""
    SENDERS[Channel(channel)](letter)


def _post(letter: Letter) -> None:
    body = json.dumps({"id": str(letter.id), "test": letter.is_test, "events": letter.events}).encode()
    try:
        webhooks.post(settings.WEBHOOK_URL, settings.WEBHOOK_SECRET, str(letter.id), body)
    except webhooks.WebhookFailed as error:
        raise DeliveryFailed(str(error)) from None


def _mail(letter: Letter) -> None:
    lines = [_line(one) for one in letter.events[:LISTED_AT_MOST]]
    if (unlisted := len(letter.events) - LISTED_AT_MOST) > 0:
        text = ngettext(
            "%(count)s more event is on the events page.", "%(count)s more events are on the events page.", unlisted
        )
        lines.append(text % {"count": unlisted})
    connection = get_connection(timeout=ANSWER_WITHIN_S)
    message = EmailMessage(
        letter.subject,
        "\n\n".join(lines) or _("This is a test of Pooldeck's e-mail: it works."),
        settings.DEFAULT_FROM_EMAIL,
        settings.EMAIL_TO if letter.to is None else letter.to,
        headers={"Message-ID": f"<{letter.id}@pooldeck>"},
        connection=connection,
    )
    try:
        message.send()
    except UnicodeError:  # its text is the password
        connection.close()  # what Django does after the errors that it expects
        reason = _("its user or password has letters beyond ASCII, which can't be sent to it")
        raise DeliveryFailed(_("the mail server did not accept it: %(error)s") % {"error": reason}) from None
    except (OSError, SMTPException) as error:
        raise DeliveryFailed(_("the mail server did not accept it: %(error)s") % {"error": error}) from None


def _line(one: EventMessage) -> str:
    head = _("%(moment)s at %(at)s, %(severity)s: %(title)s: %(type)s %(name)s") % _params(one)
    return f"{head}\n{one['message']}\n{one['url']}"


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


SENDERS: dict[Channel, Callable[[Letter], None]] = {Channel.WEBHOOK: _post, Channel.EMAIL: _mail}
