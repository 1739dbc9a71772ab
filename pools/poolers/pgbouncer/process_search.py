"""Finds the PgBouncers that share a port where their own sockets can't be seen, such as on another host.

The system hands a new connection to any of them. So consoles are opened until each process is likely to have taken one,
and SHOW CLIENTS of one console tells which others came to the same process.
"""

import os
import socket
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from uuid import uuid4

import psutil
from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.pgbouncer import console

TRIES = 24  # tries for each process found so far: one of N with equal shares is missed once in e^24
MOST_CONSOLES = 400
PROGRAM = "pgbouncer"


def any_of(pooler: Pooler) -> console.Console:
    """Open a console of any process that takes the login; raises `PoolerUnreachable` where none does."""
    try:
        return console.open(pooler)
    except PoolerUnreachable:
        if len(pooler.processes) < 2 and len(local_process.pids(pooler, PROGRAM)) < 2:
            raise
    for _number in range(TRIES):
        with suppress(PoolerUnreachable):
            return console.open(pooler)
    return console.open(pooler)


def others(pooler: Pooler, first: console.Console, stack: ExitStack) -> list[console.Console]:
    """Return a console of each process but that of the first; raises `PoolerUnreachable` where one refuses."""
    found: list[console.Console] = []
    refusals: set[str] = set()
    tries = 0
    while tries < min(TRIES * (len(found) + 1), MOST_CONSOLES):
        batch = _batch(pooler, stack, refusals)
        tries += TRIES
        unknown = batch.keys() - _listed([first, *found])
        while unknown:
            name = min(unknown)
            found.append(batch.pop(name))
            unknown -= _listed(found[-1:]) | {name}
        for one in batch.values():
            one.close()
    if refusals:
        raise PoolerUnreachable(_refused(pooler, [first, *found], refusals))
    return found


def another(pooler: Pooler, of: console.Console) -> console.Console:
    """Open one more console of the process that has this one. Raises `PoolerUnreachable`."""
    for _number in range(MOST_CONSOLES):
        name = _name()
        opened = console.open(pooler, name)
        if name in _listed([of]):
            return opened
        opened.close()
    text = _("no further connection to port %(port)s of pooler %(pooler)s came to the same process")
    raise PoolerUnreachable(text % {"port": pooler.port, "pooler": pooler})


def _batch(pooler: Pooler, stack: ExitStack, refusals: set[str]) -> dict[str, console.Console]:
    """Open consoles by names of their own, which the stack closes; add why any was refused."""
    opened: dict[str, console.Console] = {}
    for name in _names():
        try:
            opened[name] = stack.enter_context(closing(console.open(pooler, name)))
        except PoolerUnreachable as error:
            refusals.add(str(error))
    return opened


def _refused(pooler: Pooler, taking: Iterable[console.Console], refusals: Iterable[str]) -> str:
    """Return a sentence naming the processes that refuse the console login that others take; on this host only."""
    here = local_process.pids(pooler, PROGRAM)
    own_ports = {_own_port(one) for one in taking}
    refusing = [pid for pid in here if not own_ports & _ports_of_clients(pid)]
    names = [process_label(pooler, pid) for pid in refusing] or [_("one of them, which can't be seen from here")]
    return refused(pooler, names, refusals)


def refused(pooler: Pooler, refusing: Iterable[str], reasons: Iterable[str]) -> str:
    """Return the sentence for processes that refuse the console login that others take."""
    text = _(
        "several processes share port %(port)s (so_reuseport), and not all take the console login of %(user)s: "
        "%(refusing)s: %(reasons)s; let its auth_file and admin_users know %(user)s as those of the others do and "
        "RELOAD it, or end it"
    )
    params = {"port": pooler.port, "user": pooler.admin_user, "refusing": ", ".join(refusing)}
    return text % {**params, "reasons": "; ".join(sorted(reasons))}


def _own_port(connection: console.Console) -> int:
    """Return the port of this end of a console."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        return int(end.getsockname()[1])


def _ports_of_clients(pid: int) -> set[int]:
    """Return the ports from which the clients of a process connected."""
    with suppress(psutil.Error, OSError):
        return {one.raddr.port for one in psutil.Process(pid).net_connections("tcp") if one.raddr}
    return set()


def process_label(pooler: Pooler, pid: int) -> str:
    """Return a process with its pid, and with its main file and socket where it runs on this host."""
    if deliveries.of(pooler).needs_host:
        return _("pid %(pid)s") % {"pid": pid}
    sockets = [f"{folder}/.s.PGSQL.{pooler.port}" for folder in local_process.socket_folders(pid, pooler.port)]
    with suppress(psutil.Error, OSError):
        params = {"pid": pid, "file": psutil.Process(pid).cmdline()[-1], "socket": ", ".join(sockets) or _("none")}
        return _("pid %(pid)s (%(file)s, socket %(socket)s)") % params
    return _("pid %(pid)s") % {"pid": pid}


def _names() -> list[str]:
    return [_name() for _ in range(TRIES)]


def _name() -> str:
    return f"pooldeck-{uuid4().hex[:12]}"


def _listed(consoles: Iterable[console.Console]) -> set[str]:
    """Return the names of the clients that these processes have."""
    return {str(row["application_name"]) for one in consoles for row in console.rows(one, "clients")}
