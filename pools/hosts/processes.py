"""Describes the processes of a host by what /proc says of them: command line, account, unit, and where they listen."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import PurePosixPath

from pools.hosts.base import HostConnection

# HAProxy gives a socket this name until it is bound, and the kernel keeps the name.
RENAMED = re.compile(r"\.\d+\.tmp$")
OF_POSTGRESQL = re.compile(r"/\.s\.PGSQL\.\d+$")
UNIT_SEPARATOR = "\037"
FACTS = {"name", "ppid", "unit", "argv", "user", "exe", "cwd", "socket"}  # the script prints others of the host


@dataclass(frozen=True)
class ProcessFacts:
    """One process; `exe`, `cwd` and what listens are empty where the account there may not see them."""

    pid: int
    parent: int
    name: str
    user: str
    exe: str
    cwd: str
    unit: str  # the unit of systemd
    argv: tuple[str, ...]
    listeners: frozenset[tuple[str, int]]  # address and port of each TCP socket that listens
    sockets: frozenset[str]  # paths of the Unix sockets on which it listens

    @property
    def ports(self) -> frozenset[int]:
        """The TCP ports on which it listens."""
        return frozenset(port for _address, port in self.listeners)

    @property
    def socket_folders(self) -> frozenset[str]:
        """The folders of its Unix sockets that have a name of PostgreSQL's."""
        return frozenset(str(PurePosixPath(one).parent) for one in self.sockets if OF_POSTGRESQL.search(one))

    @property
    def control_sockets(self) -> frozenset[str]:
        """Its other Unix sockets, such as HAProxy's stats socket."""
        return frozenset(one for one in self.sockets if not OF_POSTGRESQL.search(one))

    def path_of(self, file: str) -> str:
        """Return the absolute path of a file that its command line names."""
        return str(PurePosixPath(self.cwd or "/", file)) if file and (self.cwd or file.startswith("/")) else file


@dataclass(frozen=True)
class Record:
    """What the script printed of a process: `facts` by name, and the inodes of its sockets."""

    pid: int
    facts: dict[str, str] = field(default_factory=dict)
    inodes: list[str] = field(default_factory=list)


def of_programs(host: HostConnection, names: Sequence[str]) -> list[ProcessFacts]:
    """Return the processes of these names. Raises `HostUnreachable`."""
    lines = host.script_to_end("processes.sh", *names).stdout.decode(errors="replace").splitlines()
    listeners, paths = dict(_listeners(lines)), dict(_paths(lines))
    return [_facts(record, listeners, paths) for record in _records(lines)]


def listening(host: HostConnection, name: str, address: str, port: int) -> list[ProcessFacts] | None:
    """Return the processes of a program that listen on a port at an address, which may be a name or a socket folder.

    None where what holds such a socket can't be seen by the account there, or is another program. Raises
    `HostUnreachable`.
    """
    lines = host.script_to_end("processes.sh", name).stdout.decode(errors="replace").splitlines()
    listeners = {inode: at for inode, at in _listeners(lines) if at[1] == port and _takes(at[0], address)}
    records = list(_records(lines))
    if not listeners or not listeners.keys() <= {one for record in records for one in record.inodes}:
        return None
    paths = dict(_paths(lines))
    return [one for one in (_facts(record, listeners, paths) for record in records) if one.listeners]


def _takes(listening: str, address: str) -> bool:
    """Return whether a socket at an address takes clients of another; a name may mean any address of the host."""
    ip = ip_address(listening)
    if ip.is_unspecified:
        return True
    try:
        return ip == ip_address(address)
    except ValueError:
        return ip.is_loopback or address != "localhost"


def _records(lines: Sequence[str]) -> Iterator[Record]:
    """Yield the processes that were there until their command line was read."""
    records: dict[str, Record] = {}
    for line in lines:
        fact, _space, rest = line.partition(" ")
        if fact in FACTS:
            pid, _space, value = rest.partition(" ")
            record = records.setdefault(pid, Record(int(pid)))
            record.inodes.append(value) if fact == "socket" else record.facts.update({fact: value})
    yield from (one for one in records.values() if one.facts.get("name") and one.facts.get("argv"))


def _facts(record: Record, listeners: dict[str, tuple[str, int]], paths: dict[str, str]) -> ProcessFacts:
    fact = defaultdict(str, record.facts)
    return ProcessFacts(
        pid=record.pid,
        parent=int(fact["ppid"] or 0),
        name=fact["name"],
        user=fact["user"],
        exe=fact["exe"].removesuffix(" (deleted)"),
        cwd=fact["cwd"],
        unit=fact["unit"],
        argv=tuple(fact["argv"].rstrip(UNIT_SEPARATOR).split(UNIT_SEPARATOR)),
        listeners=frozenset(listeners[one] for one in record.inodes if one in listeners),
        sockets=frozenset(paths[one] for one in record.inodes if one in paths),
    )


def _listeners(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield inode, address and port of each TCP socket that listens, as /proc/net/tcp has them: `0100007F:1920`."""
    for line in lines:
        if line.startswith("tcp "):
            _word, inode, place = line.split()
            address, _colon, port = place.rpartition(":")
            yield inode, (_address(address), int(port, 16))


def _address(text: str) -> str:
    """Read an address of /proc/net/tcp or tcp6: words of four bytes, each in the byte order of the usual machines."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    found = ip_address(b"".join(words))
    return str((found.version == 6 and found.ipv4_mapped) or found)


def _paths(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield inode and path of each Unix socket that listens."""
    for line in lines:
        if line.startswith("unix "):
            _word, inode, path = line.split(" ", 2)
            yield inode, RENAMED.sub("", path)
