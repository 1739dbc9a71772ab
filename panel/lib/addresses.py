"""Addresses that nothing of a person's choice may lead the panel to: metadata services, no hosts, and its own Redis.

A name is judged by what it resolves to, so that decimal, hexadecimal and mapped spellings are judged too.
"""

import ipaddress
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings

# of clouds' metadata services, where they are not link-local: AWS on IPv6, Alibaba, Oracle, Azure
METADATA = frozenset({"fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"})
PORTS = {"http": 80, "https": 443, "redis": 6379, "rediss": 6379, "postgresql": 5432, "postgres": 5432}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host in the order to try them; raises `OSError` where it has none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # no name that DNS could carry
        raise OSError(str(error)) from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def why_not(address: str, port: int, *, database: bool = False) -> str:
    """Why nothing may be led to this address and port; empty where it may.

    `database`: the server of the metadata database is forbidden too, which may well be a cluster of the panel's.
    """
    given = ipaddress.ip_address(address.partition("%")[0])
    plain = getattr(given, "ipv4_mapped", None) or given
    if str(plain) in METADATA or plain.is_link_local:
        return "where clouds keep their secrets"
    if plain.is_multicast or plain.is_unspecified or (plain.is_reserved and not plain.is_loopback):
        return "which is no host"
    is_own = any(_same(plain, own) for own, own_port in _own_services(database) if own_port == port)
    return "where the panel's own service listens" if is_own else ""


def _same(one: Address, other: Address) -> bool:
    """Any loopback address may reach what listens on another."""
    return one == other or (one.is_loopback and other.is_loopback)


def refusal(host: str, port: int) -> str:
    """Why a server may not be at this host, in a sentence; empty where it may, or where the name is not found."""
    if host.startswith(("/", "@")):
        return ""  # a socket
    try:
        return refusal_of(host, port, resolve(host, port))
    except OSError:
        return ""


def refusal_of(host: str, port: int, found: list[str]) -> str:
    """The same of a host whose addresses are known."""
    for address in found:
        if reason := why_not(address, port):
            is_what = "an address" if host == address else f"{address},"
            return f"{host} is {is_what} {reason}: choose another host"
    return ""


def _own_services(database: bool) -> Iterator[tuple[Address, int]]:
    """Addresses and ports of Redis and of the panel itself, and of the metadata database where it is asked for."""
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
