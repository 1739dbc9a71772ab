"""The processes of a PgBouncer that share its port (so_reuseport): the system hands a new connection to any of them.

RELOAD, SHOW and PAUSE reach the process that took the connection, and no other. Each is asked over its own Unix socket
where the processes run on this host, or on one that the panel reaches by SSH (`process_sockets`); else consoles are
opened until each has taken one (`process_search`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import PoolerUnreachable
from pools.models import Pooler, ProcessRow, ProcessState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, operators_config, process_search, process_sockets
from pools.poolers.pgbouncer.config_builder import ConfigBuilder
from pools.poolers.pgbouncer.console import Console
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, INCLUDE, MAIN, SETTINGS_INCLUDE

any_of = process_search.any_of


@dataclass(frozen=True)
class Process:
    """A console of one process, with its SHOW CONFIG and its pid; None where that can't be seen from here.

    `folder` is that of its Unix socket, where the console was opened over it.
    """

    console: Console
    config: Mapping[str, str]
    pid: int | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """The name of the file that it was started with."""
        return PurePosixPath(self.config.get("conffile", "")).name

    def again(self, pooler: Pooler) -> Console:
        """Open another console of this process. Raises `PoolerUnreachable`."""
        if self.folder:
            return console.open(pooler, host=self.folder)
        return process_search.another(pooler, self.console)

    def row(self) -> ProcessRow:
        """Return it as a row of the pooler's list of processes."""
        return {
            "name": self.name,
            "main_file": self.config.get("conffile", ""),
            "pid": self.pid,
            "socket": self.config.get("unix_socket_dir", ""),
            "peer_id": int(self.config.get("peer_id") or 0) or None,
            "version": str(console.rows(self.console, "version")[0]["version"]),
            "state": ProcessState.ONLINE.value,
        }


@contextmanager
def opened(
    pooler: Pooler, first_of: Callable[[Pooler], AbstractContextManager[Console]] = any_of
) -> Iterator[list[Process]]:
    """Open a console of each process; one alone, by `first_of`, where the port is not shared.

    Raises `PoolerUnreachable`, with the process that refuses the login where others take it.
    """
    with first_of(pooler) as first:
        config = _config(first)
        if config.get("so_reuseport") != "1":
            yield [Process(first, config, process_sockets.pid_behind(pooler, first))]
            return
        with ExitStack() as stack:
            found = processes_by_socket(pooler, stack)
            if not found:
                consoles = [first, *_searched(pooler, first, stack)]
                found = [Process(one, _config(one), process_sockets.pid_behind(pooler, one)) for one in consoles]
            yield sorted(found, key=lambda one: (one.name, one.config.get("conffile", ""), one.pid or 0))


def processes_by_socket(pooler: Pooler, stack: ExitStack) -> list[Process]:
    """Return each process that listens on the port, over its own Unix socket; none where one has no such socket.

    The stack closes the consoles. Raises `PoolerUnreachable` with the processes that refuse the login.
    """
    found: list[Process] = []
    refusing: dict[str, str] = {}
    for pid, folder in process_sockets.of_each(pooler):
        try:
            opened = stack.enter_context(closing(console.open(pooler, host=folder)))
        except PoolerUnreachable as error:
            refusing[process_search.process_label(pooler, pid)] = str(error)
            continue
        if process_sockets.is_another(pooler, opened, pid):
            return []
        found.append(Process(opened, _config(opened), pid, folder))
    if found and refusing:
        raise PoolerUnreachable(process_search.refused(pooler, refusing, set(refusing.values())))
    return found


@contextmanager
def known(pooler: Pooler) -> Iterator[tuple[list[Process], dict[str, str]]]:
    """Open a console of each process that the last check found online, and return why others (by name) can't be.

    Cheaper than `opened`, for a look each second: it tells of no process that came since. Raises `PoolerUnreachable`
    where none answers.
    """
    with ExitStack() as stack:
        found: list[Process] = []
        missing: dict[str, str] = {}
        elsewhere: dict[tuple[str, str], str] = {}
        for row in pooler.processes:
            name = row["name"]
            if folder := process_sockets.leads_to(pooler, row):
                try:
                    process = _opened_at(pooler, stack, folder, row["pid"])
                except PoolerUnreachable as error:
                    missing[name] = str(error)
                    continue
                if _key_of(process) == _key(row):
                    found.append(process)
                    continue
            if row["state"] == ProcessState.ONLINE and row["pid"] is None:
                elsewhere[_key(row)] = name
            elif row["state"] != ProcessState.STOPPED:
                missing[name] = _("it does not answer")
        found += _tried(pooler, stack, elsewhere)
        here = {_key_of(process) for process in found}
        missing |= {name: _("it does not answer") for key, name in elsewhere.items() if key not in here}
        if not found:
            raise PoolerUnreachable("; ".join(missing.values()))
        yield found, missing


def _tried(pooler: Pooler, stack: ExitStack, left: Collection[tuple[str, str]]) -> list[Process]:
    """Open consoles until each of these processes has taken one, as often as that is likely to need."""
    found: dict[tuple[str, str], Process] = {}
    for _number in range(process_search.TRIES * len(left)):
        if len(found) == len(left):
            break
        process = _opened_at(pooler, stack)
        if _key_of(process) in left and _key_of(process) not in found:
            found[_key_of(process)] = process
        else:
            process.console.close()
    return list(found.values())


def _opened_at(pooler: Pooler, stack: ExitStack, folder: str = "", pid: object = None) -> Process:
    """Open a console, over the socket of a process where it has one; `pid` is that of the last check."""
    opened = stack.enter_context(closing(console.open(pooler, host=folder)))
    pid_behind = process_sockets.pid_behind(pooler, opened) or pid if folder else None
    return Process(opened, _config(opened), pid_behind if isinstance(pid_behind, int) else None, folder)


def _key(row: ProcessRow) -> tuple[str, str]:
    """Return main file and socket folder, which no two processes have in common."""
    return row["main_file"], row["socket"]


def _key_of(process: Process) -> tuple[str, str]:
    return process.config.get("conffile", ""), process.config.get("unix_socket_dir", "")


def _searched(pooler: Pooler, first: console.Console, stack: ExitStack) -> list[console.Console]:
    """Return consoles of the others; over a Unix socket no other than the first can be reached."""
    if pooler.host.startswith(("/", "@")):
        text = _(
            "pooler %(pooler)s shares its port with other processes (so_reuseport), and they can't be seen from here: "
            "give its TCP address as host, by which each of them can be reached"
        )
        raise PoolerUnreachable(text % {"pooler": pooler})
    return process_search.others(pooler, first, stack)


def fault_of(processes: Sequence[Process], process: Process, fault: str) -> str:
    """Return a fault with the name of the process that has it, where there are several."""
    if len(processes) == 1:
        return fault
    return _("the process of %(name)s: %(fault)s") % {"name": process.name, "fault": fault}


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


def main_first(pooler: Pooler, processes: Sequence[Process]) -> list[Process]:
    """Return them with the one first that was started with the main file of the pooler's record."""
    main = PurePosixPath(pooler_files.path_of(pooler, MAIN)).name
    return sorted(processes, key=lambda one: one.name != main)


def further_mains(pooler: Pooler, processes: Sequence[Process]) -> tuple[str, ...]:
    """Return the names of main files in the pooler's folder with which processes besides the first were started."""
    folders = {PurePosixPath(one.config.get("conffile", "")).parent for one in processes}
    names = dict.fromkeys(one.name for one in processes[1:] if one.name not in ("", MAIN, processes[0].name))
    if len(folders) > 1 or not names:
        return ()
    return tuple(name for name, content in pooler_files.read(pooler, names).items() if content is not None)


def refuse_differing_processes(processes: Sequence[Process], drafted: ConfigBuilder) -> None:
    """Raise `Rejected` for a process that reads other users, or not the panel's files: it would not get the pools."""
    for one in processes[1:]:
        if one.config.get("auth_file") != drafted.config.get("auth_file"):
            raise _apart(processes, one, _("reads its users from %(file)s") % {"file": one.config.get("auth_file")})
        if one.name in drafted.further_mains:
            continue  # the apply adds the lines
        if missing := _missing(_texts_of(one, drafted), drafted):
            lines = ", ".join(missing)
            text = _("does not read it: add at the end of its [pgbouncer] section %(lines)s")
            raise _apart(processes, one, text % {"lines": lines})


def _missing(texts: Sequence[str], drafted: ConfigBuilder) -> list[str]:
    """Return the lines that include the panel's files, and that these texts lack; none where there are no texts."""
    included = ((SETTINGS, SETTINGS_INCLUDE), (DATABASES, INCLUDE))
    drafted_includes = [(file, line) for file, line in included if file in drafted.texts]
    absent = [file for file, line in drafted_includes if texts and not any(map(line.search, texts))]
    return [f"%include {drafted.folder}/{file}" for file in absent]


def _apart(processes: Sequence[Process], one: Process, what: str) -> Rejected:
    return Rejected(
        _(
            "%(count)d processes share the port (so_reuseport), and a pool is applied only where each of them has it; "
            "the one of %(name)s %(what)s"
        )
        % {"count": len(processes), "name": one.name, "what": what}
    )


def _texts_of(process: Process, drafted: ConfigBuilder) -> list[str]:
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


def _config(connection: console.Console) -> dict[str, str]:
    return {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}
