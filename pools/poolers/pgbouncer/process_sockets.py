"""The Unix sockets of PgBouncers that share a port: on this host, or on the one that the panel reaches by SSH."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from pools.config_files import deliveries
from pools.hosts import processes
from pools.models import Pooler, ProcessRow
from pools.poolers import local_process
from pools.poolers.pgbouncer.console import Console

PROGRAM = "pgbouncer"


def of_each(pooler: Pooler) -> Sequence[tuple[int, str]]:
    """Return pid and socket folder of each process that listens on the port; none where one has none to be seen.

    Raises `HostUnreachable`.
    """
    delivery = deliveries.of(pooler)
    if delivery.needs_host:
        with delivery.connected(pooler) as host:
            there = processes.listening(host, PROGRAM, pooler.host, pooler.port) if host else None
        found = [(one.pid, min(one.socket_folders, default="")) for one in there or ()]
    elif delivery.runs_here:
        found = [(pid, _first_here(pid, pooler.port)) for pid in local_process.sharing(pooler) or ()]
    else:
        found = []
    return found if all(folder for _pid, folder in found) else []


def leads_to(pooler: Pooler, row: ProcessRow) -> str:
    """Return the folder of the socket that leads to a process of the last check; empty where none does."""
    folder = row["socket"]
    if deliveries.of(pooler).needs_host:
        return folder if folder.startswith("/") and row["pid"] is not None else ""
    return folder if deliveries.of(pooler).runs_here and is_here(folder, pooler.port) else ""


def is_here(folder: str, port: int) -> bool:
    """Return whether this host has such a socket, or may have one without a file (`@`)."""
    return bool(folder) and (folder.startswith("@") or Path(folder, f".s.PGSQL.{port}").is_socket())


def is_another(pooler: Pooler, connection: Console, pid: int) -> bool:
    """Return whether a path led to another process than the one that has the socket, as from another container."""
    return deliveries.of(pooler).runs_here and pid_behind(pooler, connection) != pid


def pid_behind(pooler: Pooler, connection: Console) -> int | None:
    """Return the process behind a console, where it runs on this host: at the end of a tunnel is ssh itself."""
    if not deliveries.of(pooler).runs_here:
        return None
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        return local_process.peer_of(end, [row["pid"] for row in pooler.processes if row["pid"]])


def _first_here(pid: int, port: int) -> str:
    return next((one for one in local_process.socket_folders(pid, port) if is_here(one, port)), "")
