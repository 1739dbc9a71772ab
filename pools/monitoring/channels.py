"""The ways to tell people of events: a webhook and e-mail, to what the operator configured and nothing else."""

import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from smtplib import SMTPException
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from pools.models import Channel

ANSWER_WITHIN_S = 5
LISTED_AT_MOST = 50  # events that an e-mail spells out
REQUEST_TYPE = "application/json"


class DeliveryFailed(Exception):
    """A message did not arrive; the text says why, without address and secret."""


@dataclass(frozen=True)
class Letter:
    """What is told at once: one JSON object an event, newest last; `id` is the same at every attempt."""

    id: UUID
    events: list[dict[str, Any]]
    is_test: bool = False

    @property
    def subject(self) -> str:
        """Its first line."""
        if self.is_test:
            return "Pooldeck: a test message"
        if len(self.events) == 1:
            one = self.events[0]
            return f"Pooldeck: {one['moment']}: {one['title']} ({one['subject']['type']} {one['subject']['name']})"
        opened = sum(one["moment"] == "opened" for one in self.events)
        return f"Pooldeck: {opened} events opened, {len(self.events) - opened} closed"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The operator named one address: no answer may lead the panel to another one inside its network."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Nowhere; the redirect is then an error like any other status."""


def configured() -> list[str]:
    """The channels that have an address."""
    has = {Channel.WEBHOOK: settings.WEBHOOK_URL, Channel.EMAIL: settings.EMAIL_HOST and settings.EMAIL_TO}
    return [channel.value for channel, address in has.items() if address]


def send(channel: str, letter: Letter) -> None:
    """Tell it once; raises `DeliveryFailed`."""
    SENDERS[Channel(channel)](letter)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """`sha256=HEX`: HMAC-SHA256 over `STAMP.BODY`, so that neither can be changed or sent again later."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _post(letter: Letter) -> None:
    body = json.dumps({"id": str(letter.id), "test": letter.is_test, "events": letter.events}).encode()
    request = urllib.request.Request(  # noqa: S310  # panel.settings lets http and https through only
        settings.WEBHOOK_URL, data=body, headers=_headers(letter, body), method="POST"
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=ANSWER_WITHIN_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise DeliveryFailed(f"the webhook answered {error.code}") from None
    except (OSError, HTTPException) as error:
        raise DeliveryFailed(f"the webhook did not answer: {getattr(error, 'reason', error)}") from None


def _headers(letter: Letter, body: bytes) -> Mapping[str, str]:
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": REQUEST_TYPE,
        "User-Agent": "Pooldeck",
        "X-Pooldeck-Delivery": str(letter.id),
        "X-Pooldeck-Timestamp": stamp,
    }
    if settings.WEBHOOK_SECRET:
        headers["X-Pooldeck-Signature"] = signature(settings.WEBHOOK_SECRET, stamp, body)
    return headers


def _mail(letter: Letter) -> None:
    lines = [_line(one) for one in letter.events[:LISTED_AT_MOST]]
    if (left := len(letter.events) - LISTED_AT_MOST) > 0:
        lines.append(f"and {left} more: see the events page")
    message = EmailMessage(
        letter.subject,
        "\n\n".join(lines) or "This is a test of Pooldeck's e-mail: it works.",
        settings.DEFAULT_FROM_EMAIL,
        settings.EMAIL_TO,
        headers={"Message-ID": f"<{letter.id}@pooldeck>"},
        connection=get_connection(timeout=ANSWER_WITHIN_S),
    )
    try:
        message.send()
    except (OSError, SMTPException) as error:
        raise DeliveryFailed(f"the mail server did not take it: {error}") from None


def _line(one: dict[str, Any]) -> str:
    at = one["closed_at"] if one["moment"] == "closed" else one["opened_at"]
    subject = f"{one['subject']['type']} {one['subject']['name']}"
    return f"{one['moment']} at {at}, {one['severity']}: {one['title']}: {subject}\n{one['message']}\n{one['url']}"


SENDERS: dict[Channel, Callable[[Letter], None]] = {Channel.WEBHOOK: _post, Channel.EMAIL: _mail}
