"""Sends messages over the channels of notices: a webhook, e-mail, and chats and pagers by apprise."""

import json
from collections.abc import Callable
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.utils.translation import gettext as _

from core.lib import chat_services, webhooks
from core.lib.chat_services import Message, SendFailed, SentInPart
from core.lib.crypto import SealBroken
from pools.inventory import notification_channels
from pools.models import Channel, NotificationChannel
from pools.monitoring.letters import Letter

ANSWER_WITHIN_S = 5  # a mail server
LISTED_BY_SERVICES = 10  # events, since the shortest messages of these services have 2,000 characters


class DeliveryFailed(Exception):
    """A message was not delivered; the text gives the reason, without address and secret."""


class DeliveredInPart(DeliveryFailed):
    """Some of a channel's recipients have a message; another attempt would repeat it to them."""


def has_address(channel: NotificationChannel) -> bool:
    """Tell whether a channel can send: a service, or one of the environment that has its variables."""
    has = {Channel.WEBHOOK: settings.WEBHOOK_URL, Channel.EMAIL: settings.EMAIL_HOST and settings.EMAIL_TO}
    return bool(has[Channel(channel.service)]) if channel.is_of_environment else True


def configured() -> list[NotificationChannel]:
    """Return the channels that are told of events, in one query."""
    return [one for one in notification_channels.everything() if one.enabled and has_address(one)]


def send(code: str, letter: Letter) -> None:
    """Send a message once over the channel of this code. Raises `DeliveryFailed`, `DeliveredInPart`."""
    if code in Channel.values:
        SENDERS[Channel(code)](letter)
    else:
        _send_to_service(code, letter)


def _send_to_service(code: str, letter: Letter) -> None:
    channel = NotificationChannel.objects.filter(pk=code).first()
    if channel is None:
        raise DeliveryFailed(_("the channel was removed"))
    body = letter.text(LISTED_BY_SERVICES) or _("This is a test of Pooldeck's messages: it works.")
    try:
        chat_services.send(channel.url, Message(letter.subject, body, letter.urgency))
    except (SendFailed, SealBroken) as error:
        words = {"service": channel.service, "reason": error}
        failed = DeliveredInPart if isinstance(error, SentInPart) else DeliveryFailed
        raise failed(_("%(service)s did not take it: %(reason)s") % words) from None


def _post(letter: Letter) -> None:
    body = json.dumps({"id": str(letter.id), "test": letter.is_test, "events": letter.events}).encode()
    try:
        webhooks.post(settings.WEBHOOK_URL, settings.WEBHOOK_SECRET, str(letter.id), body)
    except webhooks.WebhookFailed as error:
        raise DeliveryFailed(str(error)) from None


def _mail(letter: Letter) -> None:
    connection = get_connection(timeout=ANSWER_WITHIN_S)
    message = EmailMessage(
        " ".join(letter.subject.split()),  # a header has one line
        letter.text() or _("This is a test of Pooldeck's e-mail: it works."),
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


SENDERS: dict[Channel, Callable[[Letter], None]] = {Channel.WEBHOOK: _post, Channel.EMAIL: _mail}
