"""Checks which addresses may be loaded: hosts on the allow-list, and no address that a load must not reach.

Checked when a run is submitted, and again when it starts: the name is resolved once, and that address is connected to.
"""

from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from benchmarks.errors import Refused
from core.lib import addresses


def allowed(url: str) -> str:
    """Return the address where its host is on the allow-list; raise ValueError with the reason."""
    if any(ord(character) <= 32 or ord(character) >= 127 for character in url):
        raise ValueError(_("an address has no blanks and only ASCII: encode others with %"))
    parts = _parts(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError(_("a user or password in an address would be shown with the run: leave it out"))
    hosts = settings.HTTP_ALLOW
    if not hosts:
        raise ValueError(_("addresses of your own are off: name their hosts in POOLDECK_HTTP_ALLOW"))
    if not _is_named(parts, hosts):
        raise ValueError(
            _("host %(hostname)s is not in POOLDECK_HTTP_ALLOW: use one of %(hosts)s")
            % {"hostname": parts.hostname, "hosts": ", ".join(hosts)}
        )
    return url


def resolved(url: str) -> str:
    """Return the IP address to connect to; raise `Refused` where a load must not reach it."""
    try:
        parts = _parts(allowed(url))
    except ValueError as error:
        raise Refused(str(error)) from None
    host, port = parts.hostname or "", parts.port or addresses.PORTS[parts.scheme]
    try:
        address = addresses.resolve(host, port)[0]
    except OSError as error:
        raise Refused(
            _("host %(host)s can't be resolved (%(error)s): correct the address") % {"host": host, "error": error}
        ) from None
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
        raise ValueError(
            _("%(url)s is not a web address: enter http:// or https:// and a host") % {"url": repr(url[:80])}
        )
    return parts


def _is_named(parts: SplitResult, hosts: list[str]) -> bool:
    """Test whether the list holds the host, or the host with its port."""
    host, port = (parts.hostname or "").rstrip("."), parts.port or addresses.PORTS[parts.scheme]
    bracketed = f"[{host}]" if ":" in host else host
    return bool({host, bracketed, f"{bracketed}:{port}"} & {one.lower() for one in hosts})
