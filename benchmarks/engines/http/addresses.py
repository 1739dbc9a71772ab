"""Which addresses of users' own may be loaded: hosts by an allow-list, and never what they must not reach.

Checked when a run is asked for, and again when it starts: then the name is resolved once, and that address is the one
connected to.
"""

import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from benchmarks.errors import Refused

# of clouds' metadata services, where they are not link-local: AWS on IPv6, Alibaba, Oracle
METADATA = frozenset({"fd00:ec2::254", "100.100.100.200", "192.0.0.192"})
_PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379, "postgresql": 5432, "postgres": 5432}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Refused(f"host {host} can't be resolved ({error}): correct the address") from None
    address = str(found[0][4][0])
    if reason := _why_not(ipaddress.ip_address(address.partition("%")[0]), port):
        is_what = "an address" if host == address else f"{address},"
        raise Refused(f"{host} is {is_what} {reason}: choose another host")
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
    host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    return bool({host, shown, f"{shown}:{port}"} & {one.lower() for one in hosts})


def _why_not(address: Address, port: int) -> str:
    address = getattr(address, "ipv4_mapped", None) or address
    if str(address) in METADATA or address.is_link_local:
        return "where clouds keep their secrets"
    if address.is_multicast or address.is_unspecified or address.is_reserved:
        return "which is no host"
    return "where the panel's own service listens" if (str(address), port) in set(_own_services()) else ""


def _own_services() -> Iterator[tuple[str, int]]:
    """Addresses and ports of the metadata database, of Redis and of the panel itself."""
    database = settings.DATABASES["default"]
    listed = [(str(database.get("HOST") or ""), int(database.get("PORT") or 5432))]
    for url in (settings.REDIS_URL, settings.PUBLIC_URL):
        parts = urlsplit(url)
        listed.append((parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)))
    for host, port in listed:
        for found in _addresses_of(host):
            yield found, port


def _addresses_of(host: str) -> list[str]:
    if not host or host.startswith("/"):
        return []
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except OSError:
        return []
