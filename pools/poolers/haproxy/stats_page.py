"""Client of HAProxy's stats page: its figures as CSV, for a watched HAProxy whose stats socket can't be reached."""

import base64
import re
import socket
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.utils.translation import gettext as _

from core.lib import addresses
from core.lib.crypto import SealBroken
from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.models import Pooler

SCHEMES = {"http": 80, "https": 443}
WITHIN_S = 5
LARGEST_BYTES = 8 * 1024 * 1024
VERSION = re.compile(r"HAProxy version (\d[\w.+~-]*)")  # hidden where the page has `stats hide-version`
UNAUTHORIZED = 401


def is_page(address: str) -> bool:
    """Return whether the address is an HTTP URL, not a socket's."""
    return urlsplit(address).scheme in SCHEMES


def problem_of(address: str) -> str:
    """Return why the panel may not ask this page, in a sentence; empty where it may."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", _port(parts)
    except ValueError:
        host = ""
    if not host or parts.username:
        return _("%(address)s is not the URL of a stats page: write it like http://lb1:8404/stats") % {
            "address": address
        }
    return addresses.refusal(host, port)


def csv(pooler: Pooler) -> str:
    """Return SHOW STAT as the page has it. Raises `PoolerUnreachable`."""
    return _get(pooler, ";csv")


def version(pooler: Pooler) -> str:
    """Return the release that the page names; empty where it hides it. Raises `PoolerUnreachable`."""
    found = VERSION.search(_get(pooler, ";norefresh"))
    return found[1] if found else ""


def _get(pooler: Pooler, suffix: str) -> str:
    """Fetch the page; a redirect is an error like any other status, so that no other address is asked."""
    address = pooler.stats_address
    if reason := problem_of(address):
        raise _unreachable(pooler, reason)
    parts = urlsplit(address)
    if deliveries.of(pooler).needs_host and addresses.is_local(str(parts.hostname)):
        raise _unreachable(pooler, _("no tunnel of SSH leads to a page: give its stats socket in place of the page"))
    connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(
        str(parts.hostname), _port(parts), timeout=WITHIN_S
    )
    connection._create_connection = _connect_to_judged  # type: ignore[attr-defined]  # what http.client connects with
    try:
        connection.request("GET", f"{parts.path or '/'}{suffix}", headers=_login(pooler))
        answer = connection.getresponse()
        text = answer.read(LARGEST_BYTES).decode(errors="replace")
    except (OSError, HTTPException) as error:
        raise _unreachable(pooler, str(error) or type(error).__name__) from None
    finally:
        connection.close()
    if answer.status == UNAUTHORIZED:
        raise _unreachable(pooler, _("it asks for another user or password (stats auth)"))
    if answer.status != 200:
        raise _unreachable(pooler, _("it answered with status %(status)s") % {"status": answer.status})
    return text


def _connect_to_judged(place: tuple[str, int], *words: Any) -> socket.socket:
    """Resolve the host once, and connect to the first address that answers; the name stays for TLS and the request."""
    host, port = place
    found = addresses.resolve(host, port)
    if reason := addresses.refusal_of(host, port, found):
        raise OSError(reason)
    *others, last = found
    for address in others:
        with suppress(OSError):
            return socket.create_connection((address, port), *words)
    return socket.create_connection((last, port), *words)


def _login(pooler: Pooler) -> dict[str, str]:
    try:
        password = pooler.admin_password
    except SealBroken:
        raise _unreachable(pooler, _("the stored password can't be decrypted: enter it again")) from None
    word = base64.b64encode(f"{pooler.admin_user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {word}"} if password else {}


def _port(parts: SplitResult) -> int:
    return parts.port or SCHEMES.get(parts.scheme, 0)


def _unreachable(pooler: Pooler, reason: str) -> PoolerUnreachable:
    text = _("the stats page of pooler %(pooler)s can't be read: %(reason)s")
    return PoolerUnreachable(text % {"pooler": pooler, "reason": reason})
