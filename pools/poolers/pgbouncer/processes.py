"""The processes of a PgBouncer that share its port (so_reuseport): the system hands a new connection to any of them.

RELOAD, SHOW and PAUSE reach the process that took the connection, and no other. So consoles are opened until each
process is likely to have taken one, and SHOW CLIENTS of one console tells which others came to the same process. That
works for a pooler on another host too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from uuid import uuid4

from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers.base import Rejected
from pools.poolers.pgbouncer import console, operators_config
from pools.poolers.pgbouncer.config_builder import Drafting
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.render import DATABASES, INCLUDE, MAIN, SETTINGS_INCLUDE

TRIES = 24  # for each process found so far: one of N that get an equal share is missed once in e^24
MOST_CONSOLES = 400


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
    """Open a console of each process; one alone where the port is not shared. Raises `PoolerUnreachable`."""
    with console.open(pooler) as first:
        config = _config(first)
        if config.get("so_reuseport") != "1" or pooler.host.startswith(("/", "@")):
            yield [Process(first, config)]
            return
        with ExitStack() as stack:
            others = _others(pooler, first, stack)
            found = [Process(first, config), *(Process(one, _config(one)) for one in others)]
            yield sorted(found, key=lambda one: one.name)


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
    lacking = [file for file, line in wanted if texts and not any(map(line.search, texts))]
    return [f"%include {drafted.folder}/{file}" for file in lacking]


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
        return operators_config.text_at(operators_config.here(path, start, folder, drafted.folder))

    if operators_config.here(path, start, drafted.folder, drafted.folder) == f"{drafted.folder}/{MAIN}":
        return []
    try:
        main = load(path)
    except OSError:
        return []
    return [main, *operators_config.read(main, {}, load).files.values()]


def _others(pooler: Pooler, first: console.Console, stack: ExitStack) -> list[console.Console]:
    """Return a console of each process but that of the first."""
    found: list[console.Console] = []
    tries = 0
    while tries < min(TRIES * (len(found) + 1), MOST_CONSOLES):
        batch = {name: stack.enter_context(closing(console.open(pooler, name))) for name in _names()}
        tries += len(batch)
        unknown = batch.keys() - _listed([first, *found])
        while unknown:
            name = min(unknown)
            found.append(batch.pop(name))
            unknown -= _listed(found[-1:]) | {name}
        for one in batch.values():
            one.close()
    return found


def _names() -> list[str]:
    return [f"pooldeck-{uuid4().hex[:12]}" for _ in range(TRIES)]


def _listed(consoles: Iterable[console.Console]) -> set[str]:
    """Return the names of the clients that these processes have."""
    return {str(row["application_name"]) for one in consoles for row in console.rows(one, "clients")}


def _config(connection: console.Console) -> dict[str, str]:
    return {str(row["key"]): str(row["value"] or "") for row in console.rows(connection, "config")}
