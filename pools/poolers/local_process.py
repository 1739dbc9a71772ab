"""Finds the program of a pooler that runs on this very host, by who listens at its address (Linux's /proc)."""

import socket
import sys
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from pools.models import Pooler

PROC = Path("/proc")
LISTENS = "0A"  # proc(5), /proc/net/tcp: TCP_LISTEN of the kernel's tcp_states.h
LOCAL, STATE, INODE = 1, 3, 9  # its columns
WORD = 8  # hexadecimal digits of 32 bits, which stand in the host's own order of bytes
Ip = IPv4Address | IPv6Address


def programs(pooler: Pooler, name: str) -> Iterator[str]:
    """Paths to the programs whose names begin with `name` that listen where the pooler is.

    One that was replaced or removed since it started is told by its process.
    """
    for pid, path in _found(pooler, name):
        exe = PROC / str(pid) / "exe"
        yield path if _is_same(path, exe) else str(exe)


def pids(pooler: Pooler, name: str) -> tuple[int, ...]:
    """The processes of those programs: several where they share the port."""
    return tuple(sorted(pid for pid, _ in _found(pooler, name)))


def _found(pooler: Pooler, name: str) -> Iterator[tuple[int, str]]:
    """Process and program of those that hold a socket which listens there, as far as this account may read."""
    sockets = listening(pooler)
    for folder in PROC.iterdir() if sockets else ():
        try:
            path = str((folder / "exe").readlink()) if folder.name.isdecimal() else ""
            if Path(path).name.startswith(name) and sockets & _sockets_of(folder):
                yield int(folder.name), path
        except OSError:
            continue  # it ended, or is another account's


def listening(pooler: Pooler) -> set[str]:
    """The inodes of this host's sockets that take the pooler's clients; none where it is on another host."""
    if pooler.host.startswith("/"):
        return _of_file(f"{pooler.host}/.s.PGSQL.{pooler.port}")
    own = _own_addresses(pooler)
    there = ((ip, inode) for ip, port, inode in _listeners() if own and port == pooler.port)
    return {inode for ip, inode in there if ip.is_unspecified or ip in own}


def _of_file(path: str) -> set[str]:
    """The Unix sockets at that path (proc(5), /proc/net/unix: its seventh column, and the path in the last)."""
    rows = (line.split(maxsplit=7) for line in _lines(PROC / "net/unix")[1:])
    return {columns[6] for columns in rows if columns[7:] == [path]}


def _own_addresses(pooler: Pooler) -> set[Ip]:
    """Those the pooler's host stands for that are this host's."""
    try:
        found = socket.getaddrinfo(pooler.host, pooler.port, type=socket.SOCK_DGRAM)
    except OSError:
        return set()
    return {ip_address(str(address[0]).partition("%")[0]) for *_, address in found if _is_own(str(address[0]))}


def _is_own(address: str) -> bool:
    """Whether what is sent there would leave from there; nothing is sent (udp(7), connect)."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if ip_address(address.partition("%")[0]).is_loopback:
        return True
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 1))
            return bool(probe.getsockname()[0] == address)
    except OSError:
        return False


def _listeners() -> Iterator[tuple[Ip, int, str]]:
    """Address, port and inode of each listening socket; a mapped IPv4 address as the one it is."""
    for line in [line for name in ("tcp", "tcp6") for line in _lines(PROC / "net" / name)[1:]]:
        columns = line.split()
        if columns[STATE] == LISTENS:
            ip, _, port = columns[LOCAL].partition(":")
            yield _address(ip), int(port, 16), columns[INODE]


def _address(digits: str) -> Ip:
    words = (digits[start : start + WORD] for start in range(0, len(digits), WORD))
    found = ip_address(b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words))
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _sockets_of(folder: Path) -> set[str]:
    """The inodes of the sockets that a process has open."""
    return {link.removeprefix("socket:[").rstrip("]") for link in _links(folder / "fd") if link.startswith("socket:[")}


def _links(folder: Path) -> Iterable[str]:
    for path in folder.iterdir():
        try:
            yield str(path.readlink())
        except FileNotFoundError:
            continue  # closed meanwhile


def _is_same(path: str, exe: Path) -> bool:
    """Whether that file is still the one that runs."""
    try:
        return Path(path).samefile(exe)
    except OSError:
        return False
