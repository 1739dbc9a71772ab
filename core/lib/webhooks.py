"""Signed JSON POSTs to an address that the operator configured: no redirects, and to no service of the panel's own."""

import hashlib
import hmac
import time
import urllib.error
import urllib.request
from email.message import Message
from http.client import HTTPException, InvalidURL
from typing import IO
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from core.lib import addresses

ANSWER_WITHIN_S = 5
REQUEST_TYPE = "application/json"


class WebhookFailed(Exception):
    """The receiver did not take a message; the text gives the reason, without address and secret."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the operator configured one address, and no other one may be requested."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        """Return None, so that the redirect is an error like any other status."""


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return `sha256=HEX`, the HMAC-SHA256 of `STAMP.BODY`: neither can be changed or replayed later."""
    return "sha256=" + hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def post(url: str, secret: str, delivery: str, body: bytes) -> None:
    """Send a message once, signed where there is a secret. Raises `WebhookFailed` unless the status is 2xx.

    `delivery` is the id of the message, the same at every attempt.
    """
    _refuse_forbidden(url)
    request = urllib.request.Request(  # noqa: S310 (panel.settings lets http and https through only)
        url, data=body, headers=_headers(secret, delivery, body), method="POST"
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=ANSWER_WITHIN_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise WebhookFailed(_("the webhook answered %(status)s") % {"status": error.code}) from None
    except (UnicodeError, InvalidURL):  # their text is the address, which is a secret of both sides
        raise WebhookFailed(_("the address of the webhook has signs that a URL can't have")) from None
    except (OSError, HTTPException) as error:
        words = {"seconds": ANSWER_WITHIN_S, "reason": getattr(error, "reason", error)}
        raise WebhookFailed(_("the webhook did not answer within %(seconds)s s: %(reason)s") % words) from None


def _refuse_forbidden(url: str) -> None:
    """Refuse what resolves to a metadata service or to a service of the panel's own; the sentence names the host."""
    parts = urlsplit(url)
    port = parts.port or addresses.PORTS[parts.scheme]
    if sentence := addresses.refusal(parts.hostname or "", port):
        raise WebhookFailed(sentence)


def _headers(secret: str, delivery: str, body: bytes) -> dict[str, str]:
    stamp = str(int(time.time()))
    headers = {
        "Content-Type": REQUEST_TYPE,
        "User-Agent": "Pooldeck",
        "X-Pooldeck-Delivery": delivery,
        "X-Pooldeck-Timestamp": stamp,
    }
    if secret:
        headers["X-Pooldeck-Signature"] = signature(secret, stamp, body)
    return headers
