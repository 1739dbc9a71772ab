"""The processes of a PgBouncer that share its port (so_reuseport): the system hands a new connection to any of them.

RELOAD, SHOW and PAUSE reach the process that took the connection, and no other. So consoles are opened until each
process is likely to have taken one, and SHOW CLIENTS of one console tells which others came to the same process. That
works for a pooler on another host too.
"""

import os
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import uuid4

import psutil
from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import PoolerUnreachable
from pools.models import Pooler
from pools.poolers import local_process
from pools.poolers.base import Rejected
from pools.poolers.pgbouncer import console, operators_config
from pools.poolers.pgbouncer.config_builder import Drafting
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, INCLUDE, MAIN, SETTINGS_INCLUDE

TRIES = 24  # for each process found so far: one of N that get an equal share is missed once in e^24
MOST_CONSOLES = 400
PROGRAM = "pgbouncer"


@dataclass(frozen=True)
class Process:
    """A console of one process, with its SHOW CONFIG."""

    console: console.Console
    config: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the file that it was started with."""
        return PurePosixPath(self.config.get("conffile", "")).name

    def described(self) -> dict[str, str]:
        """Return what the API tells of it."""
        version = str(console.rows(self.console, "version")[0]["version"])
        return {
            "name": self.name,
            "socket": self.config.get("unix_socket_dir", ""),
            "version": version,
            "state": "online",
        }


@contextmanager
def opened(pooler: Pooler) -> Iterator[list[Process]]:
    """Open a console of each process; one alone where the port is not shared.

    Raises `PoolerUnreachable`, with the process that refuses the login where others take it.
    """
    with any_of(pooler) as first:
        config = _config(first)
        if config.get("so_reuseport") != "1" or pooler.host.startswith(("/", "@")):
            yield [Process(first, config)]
            return
        with ExitStack() as stack:
            others = _others(pooler, first, stack)
            found = [Process(first, config), *(Process(one, _config(one)) for one in others)]
            yield sorted(found, key=lambda one: one.name)


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


@contextmanager
def named(processes: Sequence[Process], process: Process) -> Iterator[None]:
    """Name the process, where there are several, in what it is rejected for."""
    try:
        yield
    except Rejected as fault:
        if len(processes) == 1:
            raise
        text = _("the process of %(name)s, one of %(count)d that share the port (so_reuseport): %(fault)s")
        reason = text % {"name": process.name, "count": len(processes), "fault": fault}
        raise Rejected(reason, *fault.pools, settings=fault.settings) from fault


def refuse_apart(processes: Sequence[Process], drafted: Drafting) -> None:
    """Raise `Rejected` for a process that reads other users, or not the panel's files: it would not get the pools."""
    for one in processes[1:]:
        if one.config.get("auth_file") != drafted.config.get("auth_file"):
            raise _apart(processes, one, _("reads its users from %(file)s") % {"file": one.config.get("auth_file")})
        if missing := _missing(_texts_of(one, drafted), drafted):
            lines = ", ".join(missing)
            text = _("does not read it: add at the end of its [pgbouncer] section %(lines)s")
            raise _apart(processes, one, text % {"lines": lines})


def _missing(texts: Sequence[str], drafted: Drafting) -> list[str]:
    """Return the lines that include the panel's files, and that these texts lack; none where there are no texts."""
    included = ((SETTINGS, SETTINGS_INCLUDE), (DATABASES, INCLUDE))
    wanted = [(file, line) for file, line in included if file in drafted.texts]
    absent = [file for file, line in wanted if texts and not any(map(line.search, texts))]
    return [f"%include {drafted.folder}/{file}" for file in absent]


def _apart(processes: Sequence[Process], one: Process, what: str) -> Rejected:
    return Rejected(
        _(
            "%(count)d processes share the port (so_reuseport), and a pool is applied only where each of them has it; "
            "the one of %(name)s %(what)s"
        )
        % {"count": len(processes), "name": one.name, "what": what}
    )


def _texts_of(process: Process, drafted: Drafting) -> list[str]:
    """Return the texts that a process with a main file of its own reads; none where that is the panel's, or unread."""
    path = process.config.get("conffile", "")
    start, folder = operators_config.working_folder(drafted.pooler), drafted.pooler.config_dir

    def load(path: str) -> str:
        return pooler_files.text_at(drafted.pooler, operators_config.here(path, start, folder, drafted.folder))

    if operators_config.here(path, start, drafted.folder, drafted.folder) == f"{drafted.folder}/{MAIN}":
        return []
    try:
        main = load(path)
    except OSError:
        return []
    return [main, *operators_config.read(main, {}, load).files.values()]


def _others(pooler: Pooler, first: console.Console, stack: ExitStack) -> list[console.Console]:
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
    """Return which processes refuse the console login that others take; they can be seen on this host only."""
    here = local_process.pids(pooler, PROGRAM)
    own_ports = {_own_port(one) for one in taking}
    refusing = [pid for pid in here if not own_ports & _ports_of_clients(pid)]
    described = [_described(pid, pooler.port) for pid in refusing] or [_("one of them, which can't be seen from here")]
    text = _(
        "several processes share port %(port)s (so_reuseport), and not all take the console login of %(user)s: "
        "%(refusing)s: %(reasons)s; let its auth_file and admin_users know %(user)s as those of the others do and "
        "RELOAD it, or end it"
    )
    words = {"port": pooler.port, "user": pooler.admin_user, "refusing": ", ".join(described)}
    return text % {**words, "reasons": "; ".join(sorted(refusals))}


def _own_port(connection: console.Console) -> int:
    """Return the port of this end of a console."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:
        return int(end.getsockname()[1])


def _ports_of_clients(pid: int) -> set[int]:
    """Return the ports from which the clients of a process connected."""
    with suppress(psutil.Error, OSError):
        return {one.raddr.port for one in psutil.Process(pid).net_connections("tcp") if one.raddr}
    return set()


def _described(pid: int, port: int) -> str:
    """Return a process with its pid, main file and socket, as far as they can be seen."""
    with suppress(psutil.Error, OSError):
        process = psutil.Process(pid)
        held = (str(one.laddr) for one in process.net_connections("unix"))
        sockets = sorted({path for path in held if path.endswith(f"/.s.PGSQL.{port}")})
        words = {"pid": pid, "file": process.cmdline()[-1], "socket": ", ".join(sockets) or _("none")}
        return _("pid %(pid)s (%(file)s, socket %(socket)s)") % words
    return _("pid %(pid)s") % {"pid": pid}


def _names() -> list[str]:
    return [f"pooldeck-{uuid4().hex[:12]}" for _ in range(TRIES)]


def _listed(consoles: Iterable[console.Console]) -> set[str]:
    """Return the names of the clients that these processes have."""
    return {str(row["application_name"]) for one in consoles for row in console.rows(one, "clients")}


def _config(connection: console.Console) -> dict[str, str]:
    return {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}
