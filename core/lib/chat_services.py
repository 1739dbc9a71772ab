"""Messages to chats, pagers and phones by apprise: which services, which addresses, and how one message is sent.

An address such as `slack://TOKEN` is a secret as a whole. It is read here and nowhere else, no text of this module
repeats a part of it, and apprise gets only services that post by HTTPS, by `core.lib.judged_requests`. What else its
addresses can do is refused: reading files (`template=`, `attach=`), unverified certificates, headers of one's own.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.utils.translation import gettext as _

from core.lib import judged_requests

if TYPE_CHECKING:
    from apprise import AppriseAsset

# the schemes of apprise that are let through, each with the name that people know; each posts by HTTPS from one module
SERVICES = {
    "discord": "Discord",
    "gchat": "Google Chat",
    "gotifys": "Gotify",
    "mmosts": "Mattermost",
    "ntfys": "ntfy",
    "opsgenie": "Opsgenie",
    "pagerduty": "PagerDuty",
    "pagertree": "PagerTree",
    "pover": "Pushover",
    "rockets": "Rocket.Chat",
    "signl4": "SIGNL4",
    "slack": "Slack",
    "splunk": "Splunk On-Call",
    "tgram": "Telegram",
    "twilio": "Twilio",
    "workflows": "Microsoft Teams",
    "wxteams": "Webex",
    "zulip": "Zulip",
}
# what follows the question mark in addresses of these services, their own web addresses included
PARAMETERS = frozenset(
    re.findall(
        r"[\w-]+",
        "api-version apikey auth avatar batch botname category channel class click component details email entity "
        "footer format from group icon_emoji image key mode name overflow path ping powerautomate priority region "
        "route service sig signature sound source sp sv tags team thread threadkey to token topic ver wrap xtags",
    )
)
LONGEST = 2000  # characters of an address
SHORTEST_SECRET = 5  # shorter parts of an address, such as `to`, are words that an answer may well have
HIDDEN = "…"
ACCEPTED = re.compile(r"2\d\d(?: |$)")  # the begin of an answer


class Urgency(StrEnum):
    """How a service marks a message; the values are those of apprise."""

    INFO = "info"
    SUCCESS = "success"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Message:
    """One message in plain text."""

    title: str
    body: str
    urgency: Urgency = Urgency.INFO


class SendFailed(Exception):
    """The service did not take a message; the text gives the reason, without any part of the address."""


class SentInPart(SendFailed):
    """Some of the recipients of one address have the message, and would get it again by another attempt."""


def problem_of(url: str) -> str:
    """Return why an address is not taken for a channel, or an empty text; connects to nothing.

    One has one recipient: apprise tells of several only whether all of them have a message.
    """
    if fault := _fault_of(url):
        return fault
    if (count := len(_plugin_of(url))) > 1:
        text = _(
            "the address has %(count)s recipients, and a message that one of them refuses would be sent again to all: "
            "make a channel for each"
        )
        return text % {"count": count}
    return ""


def _fault_of(url: str) -> str:
    """Return why no message can be sent to this address, or an empty text."""
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > LONGEST:
        return _("an address has no spaces, only printable ASCII, and at most %(most)s characters") % {"most": LONGEST}
    parts = _split(url)
    if parts is None or parts.scheme.lower() not in {"https", *SERVICES}:
        words = {"schemes": ", ".join(f"{scheme}://" for scheme in SERVICES)}
        return _("use an address of apprise that begins with one of these: %(schemes)s") % words
    named = {name.lower() for name, _value in parse_qsl(parts.query, keep_blank_values=True)}
    if not_taken := sorted(named - PARAMETERS):
        return _("%(names)s: not taken in an address here") % {"names": ", ".join(not_taken)}
    if _plugin_of(url) is None:
        return _("apprise can't read this as an address of %(service)s") % {"service": service_of(url)}
    return ""


def service_of(url: str) -> str:
    """Return the name of the service of an address, as people know it; empty where it is none of these."""
    parts = _split(url)
    if parts is None:
        return ""
    if name := SERVICES.get(parts.scheme.lower()):
        return name
    plugin = _plugin_of(url) if parts.scheme.lower() == "https" else None
    return SERVICES[_scheme_of(plugin)] if plugin is not None else _("one of the services")


def send(url: str, message: Message) -> None:
    """Send a message once, to each recipient of an address. Raises `SendFailed`, `SentInPart`."""
    if fault := _fault_of(url):
        raise SendFailed(fault)
    plugin = _plugin_of(url)
    judged_requests.confine(sys.modules[type(plugin).__module__])
    text = {"title": message.title, "body": message.body, "notify_type": str(message.urgency), "body_format": "text"}
    text["overflow"] = "split"  # what is too long for a service is several messages there, else it would be refused
    fault = ""
    with judged_requests.noted() as answers:
        try:
            is_sent = plugin.notify(**text)
        except Exception as error:  # noqa: BLE001 (of twenty plugins; one that fails must not stop other channels)
            is_sent, fault = False, _("apprise failed: %(error)s") % {"error": type(error).__name__}
    if not is_sent:
        raise _failure(len(plugin), answers, fault, url)


def _failure(count: int, answers: Sequence[str], fault: str, url: str) -> SendFailed:
    """Return the error for what `count` recipients did not all get, with the answer that tells why."""
    refusals = [one for one in answers if not ACCEPTED.match(one)]
    reason = without_secrets(fault or [_("apprise refused to send it"), *answers, *refusals][-1], url)
    if count == 1 or len(refusals) == len(answers):
        return SendFailed(reason)
    text = _(
        "not all of its %(count)s recipients took it, and it is not sent again to those that did: make a channel for "
        "each (%(reason)s)"
    )
    return SentInPart(text % {"count": count, "reason": reason})


def without_secrets(text: str, url: str) -> str:
    """Return a text of the other side without the parts of the address that it repeats."""
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    found = {part for part in re.split(r"[/@:?&=#,]+", url.partition("://")[2]) if len(part) >= SHORTEST_SECRET}
    for secret in sorted({one for part in found for one in (part, unquote(part))}, key=len, reverse=True):
        if secret.lower() != host or not _names_a_host(url):
            text = re.sub(re.escape(secret), HIDDEN, text, flags=re.IGNORECASE)
    return text


def _names_a_host(url: str) -> bool:
    """Tell whether what stands in the host's place is one; with most services it is a part of the token."""
    return "." in (urlsplit(url).hostname or "")


def _split(url: str) -> Any:  # noqa: ANN401 (a SplitResult or None)
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _plugin_of(url: str) -> Any:  # noqa: ANN401 (apprise has no types for its plugins)
    """Return what sends to this address, if it is one of the services; nothing is requested by that."""
    from apprise import Apprise  # takes longer than all models, and most processes send nothing

    try:
        plugin = Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
    except Exception:  # noqa: BLE001 (its parsers raise what they come across; all of it means the same)
        return None
    return plugin if plugin is not None and _scheme_of(plugin) in SERVICES else None


def _scheme_of(plugin: Any) -> str:  # noqa: ANN401 (apprise has no types for its plugins)
    """Return the scheme of a plugin that posts by HTTPS; several are one service, such as workflow and workflows."""
    schemes = type(plugin).secure_protocol or ()
    listed = (schemes,) if isinstance(schemes, str) else tuple(schemes)
    return next((one for one in listed if one in SERVICES), "")


@cache
def _asset() -> "AppriseAsset":
    """Return what apprise takes as its surroundings: nothing on the disk, no pictures from the net, one thread."""
    from apprise import AppriseAsset, PersistentStoreMode  # see above

    return AppriseAsset(
        app_id="Pooldeck",
        app_desc="Pooldeck",
        app_url="",
        image_url_mask="",
        image_url_logo="",
        image_path_mask="",
        async_mode=False,
        secure_logging=True,
        storage_mode=PersistentStoreMode.MEMORY,
    )
