"""What lets several PgBouncers share one port: a main file for each, and a systemd template unit for the others.

PgBouncer works on one core. With so_reuseport each process listens on the same port; each needs a Unix socket and a pid
file of its own. Since 1.19 they are peers, so that a cancel request reaches the process of its session.
"""

from pathlib import PurePosixPath

import psutil
from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import IllegalTransition
from pools.models import Pooler
from pools.poolers.pgbouncer import processes, releases, render
from pools.poolers.pgbouncer.global_settings import SETTINGS
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pgbouncer.render import MAIN
from pools.poolers.process_plan import ProcessPlan

PEERS_SINCE = (1, 19)
UNIT = """\
[Unit]
Description=PgBouncer, process %i on port {port}
After=network.target

[Service]
Type=simple
User={user}
{folder}
ExecStart={program} {stem}-%i{suffix}
ExecReload=/bin/kill -HUP $MAINPID
KillSignal=SIGINT
Restart=on-failure
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
"""


def planned(pooler: Pooler, count: int) -> ProcessPlan:
    """Return the main files and the unit for this many processes; changes nothing.

    Raises `PoolerUnreachable`, `OSError`, and `IllegalTransition` where its files don't lend themselves to it.
    """
    pooler.require_managed()
    with processes.opened(pooler) as found:
        first = found[0]
    _require_alone(pooler, first)
    path = PurePosixPath(pooler_files.path_of(pooler, MAIN))
    paths = [str(path), *(str(path.with_stem(f"{path.stem}-{number}")) for number in range(2, count + 1))]
    main = pooler_files.text_at(pooler, str(path))
    own = [_own_lines(pooler, first, number) for number in range(1, count + 1)]
    peers = _peers(pooler, first, count)
    files = {name: _with_own(main, lines) + peers for name, lines in zip(paths, own, strict=True)}
    return ProcessPlan(files, dict(zip(paths, own, strict=True)), peers, f"{path.stem}@.service", _unit(pooler, first))


def _require_alone(pooler: Pooler, first: Process) -> None:
    if first.config.get("so_reuseport") == "1":
        text = _("pooler %(pooler)s shares its port already (so_reuseport): give one more a main file like theirs")
        raise IllegalTransition(text % {"pooler": pooler})
    if not first.config.get("unix_socket_dir", "").startswith("/"):
        text = _("pooler %(pooler)s has no folder for its Unix socket: set unix_socket_dir, and restart it")
        raise IllegalTransition(text % {"pooler": pooler})
    if not first.config.get("conffile", "").startswith("/"):
        text = _("PgBouncer was started with a relative path of its main file: start it with the whole path first")
        raise IllegalTransition(text)


def _own_lines(pooler: Pooler, first: Process, number: int) -> tuple[str, ...]:
    """Return what one process sets for itself; the first keeps its socket and its pid file."""
    has_peers = releases.version_of(pooler.server_version) >= PEERS_SINCE
    shared = ("so_reuseport = 1", *([f"peer_id = {number}"] if has_peers else []))
    if number == 1:
        return shared
    folder = _folder(first).replace("%i", str(number))
    return (*shared, f"unix_socket_dir = {folder}", f"pidfile = {folder}/pgbouncer.pid")


def _with_own(main: str, lines: tuple[str, ...]) -> str:
    """Add the lines at the end of [pgbouncer], below the panel's settings: the last value of a key counts."""
    found = render.with_last_lines(main, *lines, goes_on=lambda path: PurePosixPath(path).name == SETTINGS)
    if found == main:
        raise IllegalTransition(
            _("the main file has no [pgbouncer] section, which would take the lines of each process")
        )
    return found


def _peers(pooler: Pooler, first: Process, count: int) -> str:
    """Return the section that names the socket of each process; empty before 1.19."""
    if releases.version_of(pooler.server_version) < PEERS_SINCE:
        return ""
    others = [_folder(first).replace("%i", str(number)) for number in range(2, count + 1)]
    folders = enumerate([first.config["unix_socket_dir"].split(",")[0].strip(), *others], start=1)
    return "\n[peers]\n" + "".join(f"{number} = host={folder} port={pooler.port}\n" for number, folder in folders)


def _folder(first: Process) -> str:
    """Return the folder of a further process, with %i for its number: none that the first one's unit removes."""
    its = PurePosixPath(first.config["unix_socket_dir"].split(",")[0].strip())
    in_run = its.is_relative_to("/run") or its.is_relative_to("/var/run")
    return "/run/pgbouncer-%i" if in_run else f"{its}/pgbouncer-%i"


def _unit(pooler: Pooler, first: Process) -> str:
    """Return the template unit; it starts the program of the process that runs, as its user, in its folder."""
    user, program, cwd = "postgres", "/usr/sbin/pgbouncer", ""
    try:
        if first.pid is not None:
            running = psutil.Process(first.pid)
            user, program, cwd = running.username(), running.exe() or program, running.cwd()
    except (psutil.Error, OSError):  # it is another user's: the packages' paths stand in
        pass
    folder = _folder(first)
    made = f"RuntimeDirectory={folder.removeprefix('/run/')}" if folder.startswith("/run/") else _made(folder)
    path = PurePosixPath(first.config["conffile"])
    words = {"user": user, "program": program, "port": pooler.port, "stem": path.with_suffix(""), "suffix": path.suffix}
    return UNIT.format(folder=made + (f"\nWorkingDirectory={cwd}" if cwd else ""), **words)


def _made(folder: str) -> str:
    return f"ExecStartPre=/bin/mkdir -p {folder}"
