"""Describes the processes of a host by what /proc says of them: command line, account, unit, and where they listen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pools.hosts.base import HostConnection

UNIT_SEPARATOR = "\037"


@dataclass(frozen=True)
class ProcessFacts:
    """One process; `exe`, `cwd` and what listens are empty where the account there may not see them."""

    pid: int
    parent: int
    name: str
    user: str
    exe: str
    cwd: str
    unit: str  # of systemd
    argv: tuple[str, ...]
    ports: frozenset[int]
    socket_folders: frozenset[str]

    def path_of(self, file: str) -> str:
        """Return the absolute path of a file that its command line names."""
        return str(PurePosixPath(self.cwd or "/", file)) if file and (self.cwd or file.startswith("/")) else file


def of_programs(host: HostConnection, names: Sequence[str]) -> list[ProcessFacts]:
    """Return the processes of these names. Raises `HostUnreachable`."""
    lines = host.script("processes.sh", *names).stdout.decode(errors="replace").splitlines()
    ports, folders = dict(_ports(lines)), dict(_folders(lines))
    return [_facts(record, ports, folders) for record in _records(lines)]


def _records(lines: Sequence[str]) -> Iterator[dict[str, str]]:
    record: dict[str, str] = {}
    for line in lines:
        word, _space, value = line.partition(" ")
        if word == "process":
            record = {}
        record[word] = value
        if word == "name" and value and record.get("argv"):  # else it ended while it was looked at
            yield record


def _facts(record: dict[str, str], ports: dict[str, int], folders: dict[str, str]) -> ProcessFacts:
    sockets = record.get("sockets", "").split()
    return ProcessFacts(
        pid=int(record["process"]),
        parent=int(record.get("ppid") or 0),
        name=record["name"],
        user=record.get("user", ""),
        exe=record.get("exe", "").removesuffix(" (deleted)"),
        cwd=record.get("cwd", ""),
        unit=record.get("unit", ""),
        argv=tuple(record.get("argv", "").rstrip(UNIT_SEPARATOR).split(UNIT_SEPARATOR)),
        ports=frozenset(ports[one] for one in sockets if one in ports),
        socket_folders=frozenset(folders[one] for one in sockets if one in folders),
    )


def _ports(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield inode and port of each TCP socket that listens, as /proc/net/tcp has them: `0100007F:1920`."""
    for line in lines:
        if line.startswith("tcp "):
            _word, inode, address = line.split()
            yield inode, int(address.rpartition(":")[2], 16)


def _folders(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield inode and folder of each Unix socket with a name of PostgreSQL's."""
    for line in lines:
        if line.startswith("unix "):
            _word, inode, path = line.split(" ", 2)
            yield inode, str(PurePosixPath(path).parent)
