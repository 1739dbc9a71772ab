"""Addresses that the panel refuses to connect to (SSRF): metadata services, non-host addresses and its own services.

Loopback and private networks are where poolers and servers usually are, so they are allowed until the administrator
names the networks of all targets (POOLDECK_TARGETS_ALLOW), which then excludes whatever they leave out.
A name is judged by the addresses it resolves to, which covers decimal, hexadecimal and IPv4-mapped spellings.
"""

import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# metadata services of clouds that are not link-local: AWS on IPv6, Alibaba, Oracle, Azure
METADATA = frozenset({"fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"})
PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379, "postgresql": 5432, "postgres": 5432}

IS_METADATA = _("%(host)s is the address of a cloud's metadata service: choose another host")
LEADS_TO_METADATA = _("%(host)s resolves to %(address)s, a cloud's metadata service: choose another host")
IS_NO_HOST = _("%(host)s is not the address of a host: choose another host")
LEADS_TO_NO_HOST = _("%(host)s resolves to %(address)s, which is not the address of a host: choose another host")
IS_THE_PANEL = _("%(host)s is an address where the panel's own services listen: choose another host")
LEADS_TO_THE_PANEL = _("%(host)s resolves to %(address)s, where the panel's own services listen: choose another host")
IS_NOT_LISTED = _("%(host)s is in no network that POOLDECK_TARGETS_ALLOW names: ask the administrator of the panel")
LEADS_BEYOND = _(
    "%(host)s resolves to %(address)s, which is in no network that POOLDECK_TARGETS_ALLOW names: ask the administrator "
    "of the panel"
)

HOSTS = Path("/etc/hosts")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_loopback(host: str) -> bool:
    """Test whether a host, `[::1]` included, means whatever machine it is used on."""
    name = host.strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Test whether a server's host means the machine itself: a socket, or a loopback address."""
    return host.startswith(("/", "@")) or is_loopback(host)


def is_name(host: str) -> bool:
    """Test whether a server's host is a name that has to be resolved: no socket, no address, and no localhost."""
    if not host or is_local(host):
        return False
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return True
    return False


def listed(name: str) -> list[str]:
    """Return the addresses of a name in this machine's own list of hosts; asks no name server. See hosts(5)."""
    try:
        lines = HOSTS.read_text(errors="replace").splitlines()
    except OSError:
        return []
    words = (line.partition("#")[0].lower().split() for line in lines)
    return list(dict.fromkeys(one[0] for one in words if name.lower().rstrip(".") in one[1:]))


def is_of_this_machine(address: str) -> bool:
    """Test whether an address is one of this machine's own interfaces, loopback included."""
    return is_loopback(address) or any(
        one.address.partition("%")[0] == address for found in psutil.net_if_addrs().values() for one in found
    )


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host in the order to try them; raises `OSError` where it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # DNS could not carry this name.
        raise OSError(str(error)) from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def refusal(host: str, port: int) -> str:
    """Return why a server may not be at this host, as a sentence; empty where it may, or where the name is unknown."""
    if host.startswith(("/", "@")):
        return ""  # a socket
    try:
        return refusal_of(host, port, resolve(host, port))
    except OSError:
        return ""


def refusal_of(host: str, port: int, found: list[str], *, database: bool = False) -> str:
    """Return why nothing may connect to this host, whose addresses are `found`; empty where all are allowed.

    `database` forbids the server of the metadata database too, which may well be a cluster of the panel's.
    """
    for address in found:
        if sentence := _refusal_sentence(address, port, is_host=host == address, database=database):
            return str(sentence) % {"host": host, "address": address}
    return ""


def _refusal_sentence(address: str, port: int, *, is_host: bool, database: bool) -> Promise | None:
    """Return the sentence for a forbidden address, to be filled in with host and address."""
    ip_address = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(ip_address, "ipv4_mapped", None) or ip_address
    if str(plain) in METADATA or plain.is_link_local:
        return IS_METADATA if is_host else LEADS_TO_METADATA
    if plain.is_multicast or plain.is_unspecified or (plain.is_reserved and not plain.is_loopback):
        return IS_NO_HOST if is_host else LEADS_TO_NO_HOST
    if any(_same(plain, own) for own, own_port in _own_services(database) if own_port == port):
        return IS_THE_PANEL if is_host else LEADS_TO_THE_PANEL
    if settings.TARGETS_ALLOW and not any(plain in network for network in settings.TARGETS_ALLOW):
        return IS_NOT_LISTED if is_host else LEADS_BEYOND
    return None


def _same(one: Address, other: Address) -> bool:
    """Tell whether both are one address; any loopback address may reach what listens on another."""
    return one == other or (one.is_loopback and other.is_loopback)


def _own_services(database: bool) -> Iterator[tuple[Address, int]]:
    """Yield address and port of Redis and of the panel itself; with `database`, of the metadata database too."""
    listed = []
    if database:
        own = settings.DATABASES["default"]
        listed.append((str(own.get("HOST") or ""), int(own.get("PORT") or 5432)))
    for url in (settings.REDIS_URL, settings.PUBLIC_URL):
        parts = urlsplit(url)
        listed.append((parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)))
    for host, port in listed:
        for found in _addresses_of(host):
            yield ipaddress.ip_address(found.partition("%")[0]), port


def _addresses_of(host: str) -> list[str]:
    if not host or host.startswith("/"):
        return []
    try:
        return resolve(host, 0)
    except OSError:
        return []
