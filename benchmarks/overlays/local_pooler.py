"""Finds the processes of a PgBouncer that runs on this very host: those that hold the socket it listens on."""

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.overlays.proc import PROC
from pools.models import Pooler, PoolerKind

log = logging.getLogger(__name__)

PROGRAM = "pgbouncer"
LISTENING = "0A"  # net/tcp_states.h


def pids_of(pooler: Pooler) -> tuple[int, ...]:
    """The processes, several where they share the port; none for another kind, elsewhere, or hidden from this account.

    A process of that name may run here by chance: the socket that listens at the pooler's port must be its own.
    """
    if pooler.kind != PoolerKind.PGBOUNCER or not _is_own_address(pooler.host):
        return ()
    inodes = set(listening((PROC / "net" / name for name in ("tcp", "tcp6")), pooler.port))
    return tuple(sorted(pid for pid in _named(PROGRAM) if inodes & set(_sockets(pid))))


def listening(tables: Iterator[Path], port: int) -> Iterator[str]:
    """The inodes of the sockets that listen at a port, from tables like /proc/net/tcp."""
    for table in tables:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == LISTENING and int(words[1].rpartition(":")[2], 16) == port:
                    yield words[9]


def _is_own_address(host: str) -> bool:
    """Whether the name leads to an address of this host: only such a one can be bound to."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    return any(_can_bind(family, address) for family, _, _, _, address in found)


def _can_bind(family: socket.AddressFamily, address: tuple[object, ...]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as trial:
            trial.bind(address)
    except OSError:
        return False
    return True


def _named(program: str) -> Iterator[int]:
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if (folder / "comm").read_text().strip() == program:
                    yield int(folder.name)


def _sockets(pid: int) -> Iterator[str]:
    """The inodes of a process's sockets; none where this account may not see them."""
    with suppress(OSError):
        for entry in (PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                target = str(entry.readlink())
                if target.startswith("socket:["):
                    yield target[8:-1]
