"""Which addresses of users' own may be loaded: hosts by an allow-list, and never what they must not reach.

Checked when a run is asked for, and again when it starts: then the name is resolved once, and that address is the one
connected to.
"""

from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from benchmarks.errors import Refused
from panel.lib import addresses


def allowed(url: str) -> str:
    """The address where its host is allow-listed; raises ValueError with the reason."""
    if any(ord(character) <= 32 or ord(character) >= 127 for character in url):
        raise ValueError("an address has no blanks and only ASCII: encode others with %")
    parts = _parts(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("a user or password in an address would be shown with the run: leave it out")
    hosts = settings.HTTP_ALLOW
    if not hosts:
        raise ValueError("addresses of your own are off: name their hosts in POOLDECK_HTTP_ALLOW")
    if not _is_named(parts, hosts):
        raise ValueError(f"host {parts.hostname} is not in POOLDECK_HTTP_ALLOW: use one of {', '.join(hosts)}")
    return url


def resolved(url: str) -> str:
    """The IP address to connect to; raises `Refused` where it must not be."""
    try:
        parts = _parts(allowed(url))
    except ValueError as error:
        raise Refused(str(error)) from None
    host, port = parts.hostname or "", parts.port or addresses.PORTS[parts.scheme]
    try:
        address = addresses.resolve(host, port)[0]
    except OSError as error:
        raise Refused(f"host {host} can't be resolved ({error}): correct the address") from None
    if refusal := addresses.refusal_of(host, port, [address], database=True):
        raise Refused(refusal)
    return address


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        well_formed = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        well_formed = False
    if not well_formed:
        raise ValueError(f"{url[:80]!r} is no address: use http:// or https:// and a host")
    return parts


def _is_named(parts: SplitResult, hosts: list[str]) -> bool:
    """Whether the list holds the host, or the host with the port."""
    host, port = (parts.hostname or "").rstrip("."), parts.port or addresses.PORTS[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    return bool({host, shown, f"{shown}:{port}"} & {one.lower() for one in hosts})
