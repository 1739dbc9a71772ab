"""The receivers of the trail that the operator configured, and how entries are put to each."""

import json
from collections.abc import Callable, Sequence
from uuid import NAMESPACE_URL, uuid5

from django.conf import settings
from django.utils.translation import gettext as _

from core.audit.models import Entry, StreamTarget
from core.lib import addresses, syslog, webhooks
from core.lib.syslog import Certificates, Message, Receiver, SyslogFailed, Transport

DATAGRAMS = (Transport.UDP, Transport.LOCAL)


class StreamFailed(Exception):
    """The target did not take the entries, or may not have taken all; the text gives the reason."""


def configured() -> list[StreamTarget]:
    """Return the targets for which the environment has an address."""
    has = {StreamTarget.SYSLOG: settings.AUDIT_SYSLOG, StreamTarget.WEBHOOK: settings.AUDIT_WEBHOOK_URL}
    return [target for target, address in has.items() if address]


def name_of(target: StreamTarget) -> str:
    """Return what people call a target; of a webhook the address is a secret of both sides."""
    address = f" {settings.AUDIT_SYSLOG}" if target == StreamTarget.SYSLOG else ""
    return f"{target.label}{address}"


def send(target: StreamTarget, entries: Sequence[Entry]) -> None:
    """Send entries in their order, once. Raises `StreamFailed`; some of them may have arrived then."""
    SENDERS[target](entries)


def _to_syslog(entries: Sequence[Entry]) -> None:
    receiver: Receiver | None = settings.AUDIT_SYSLOG
    if receiver is None:  # the setting was taken away since
        raise StreamFailed(_("POOLDECK_AUDIT_SYSLOG is not set"))
    messages = [Message(entry.at, entry.action, _text(entry, receiver.transport)) for entry in entries]
    certificates = Certificates(settings.AUDIT_SYSLOG_CA, settings.AUDIT_SYSLOG_CERTIFICATE)
    try:
        syslog.send(receiver, _addresses_of(receiver), messages, certificates)
    except SyslogFailed as error:
        raise StreamFailed(str(error)) from error


def _addresses_of(receiver: Receiver) -> list[str]:
    """Resolve a receiver's host. Raises `StreamFailed` where nothing may connect to it."""
    if receiver.transport == Transport.LOCAL:
        return []
    try:
        found = addresses.resolve(receiver.host, receiver.port)
    except OSError as error:
        raise StreamFailed(f"{receiver}: {error.strerror or error}") from error
    if sentence := addresses.refusal_of(receiver.host, receiver.port, found):
        raise StreamFailed(sentence)
    return found


def _text(entry: Entry, transport: Transport) -> str:
    """Return an entry in JSON of ASCII; of one that no datagram can carry, the change stays behind."""
    whole = json.dumps(entry.as_json())
    if transport not in DATAGRAMS or len(whole) <= syslog.DATAGRAM_BYTES:
        return whole
    left_out = _("%(bytes)s bytes, too long for a datagram: see entry %(number)s of the audit trail")
    change = {"left_out": left_out % {"bytes": len(whole), "number": entry.number}}
    return json.dumps(entry.as_json() | {"change": change})


def _to_webhook(entries: Sequence[Entry]) -> None:
    """Post entries in one message, whose id tells a repetition of the same entries."""
    delivery = str(uuid5(NAMESPACE_URL, f"{entries[0].hash}:{entries[-1].hash}"))
    body = json.dumps({"id": delivery, "entries": [entry.as_json() for entry in entries]}).encode()
    try:
        webhooks.post(settings.AUDIT_WEBHOOK_URL, settings.AUDIT_WEBHOOK_SECRET, delivery, body)
    except webhooks.WebhookFailed as error:
        raise StreamFailed(str(error)) from error


SENDERS: dict[StreamTarget, Callable[[Sequence[Entry]], None]] = {
    StreamTarget.SYSLOG: _to_syslog,
    StreamTarget.WEBHOOK: _to_webhook,
}
