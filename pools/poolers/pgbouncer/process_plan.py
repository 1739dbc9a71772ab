"""What lets several PgBouncers share one port, to look at before: their files, a template unit, and the commands."""

from pathlib import PurePosixPath
from typing import NamedTuple

import psutil
from django.utils.translation import gettext as _

from pools.config_files import pooler_files
from pools.errors import IllegalTransition
from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import processes, releases, sharing
from pools.poolers.pgbouncer.processes import Process
from pools.poolers.pgbouncer.render import MAIN
from pools.poolers.pgbouncer.sharing import Sharing
from pools.poolers.process_plan import ProcessPlan

# Since this release a process that gets SIGTERM takes no new clients, and stops once its clients are gone.
LEAVES_CLIENTS = (1, 23)
UNIT = """\
[Unit]
Description=PgBouncer, process %i on port {port}
After=network.target

[Service]
Type=simple
User={user}
{folder}
ExecStart={program} {main}
ExecReload=/bin/kill -HUP $MAINPID
KillSignal=SIGINT
Restart=on-failure
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
"""


def planned(pooler: Pooler, count: int) -> ProcessPlan:
    """Return the files and commands that this many processes need; changes nothing.

    Raises `PoolerUnreachable`, `OSError`, and `IllegalTransition` where its files don't lend themselves to it.
    """
    pooler.require_managed()
    with processes.opened(pooler) as found:
        found = processes.main_first(pooler, found)
    online = {number for one in found if (number := sharing.number_of(pooler, one.name))}
    if len(online) < len(found):
        text = _("pooler %(pooler)s shares its port already (so_reuseport): give one more a main file like theirs")
        raise IllegalTransition(text % {"pooler": pooler})
    if 1 not in online:
        text = _(
            "the process of %(file)s does not answer: start it again once it has ended (systemctl start pgbouncer)"
        )
        raise IllegalTransition(text % {"file": pooler_files.path_of(pooler, MAIN)})
    first, further = found[0], frozenset(online - {1})
    planned_sharing = Sharing(releases.version_of(pooler.server_version), first.config, count, further)
    try:
        planned_sharing.refuse_unfit()
    except Rejected as fault:
        raise IllegalTransition(str(fault)) from None
    folder = PurePosixPath(pooler_files.path_of(pooler, MAIN)).parent
    lines = {
        str(folder / sharing.name_of(number)): planned_sharing.lines_of(number) for number in planned_sharing.further
    }
    commands, note, keeps_clients = _steps(planned_sharing, online)
    unit_name = f"{planned_sharing.stem}@.service"
    program = _program(first)
    unit, by_hand = _unit(program, planned_sharing), _by_hand(first, program, planned_sharing, online)
    return ProcessPlan(
        lines, planned_sharing.peers, unit_name, unit, commands, note, keeps_clients, program.user, by_hand
    )


def _steps(asked: Sharing, online: set[int]) -> tuple[tuple[str, ...], str, bool]:
    """Return the commands, what they mean for clients, and whether each keeps its session."""
    missing = [number for number in range(2, asked.count + 1) if number not in online]
    surplus = [number for number in asked.further if number > asked.count]
    if surplus:
        return _stopping(asked, surplus)
    if not missing:
        return (), "", True
    start = ("systemctl daemon-reload", f"systemctl enable --now {_units(asked, missing)}")
    if asked.config.get("so_reuseport") == "1":
        return start, _("The one that runs goes on: no client is disconnected."), True
    if asked.version >= LEAVES_CLIENTS:
        note = _(
            "The process that runs was started without so_reuseport, and until it gives the port up no other can "
            "listen there. After SIGTERM it takes no new clients and serves those that it has until they leave, so "
            "no session is lost; new clients are refused until the next command. Once it has ended, start it again."
        )
        return ("systemctl kill --signal=TERM pgbouncer", *start, "systemctl start pgbouncer"), note, True
    note = _(
        "The process that runs was started without so_reuseport, and until it gives the port up no other can listen "
        "there: it has to be restarted, which disconnects its clients. PgBouncer can wait for them since 1.23."
    )
    return ("systemctl restart pgbouncer", *start), note, False


def _stopping(asked: Sharing, surplus: list[int]) -> tuple[tuple[str, ...], str, bool]:
    units = _units(asked, surplus)
    if asked.version >= LEAVES_CLIENTS:
        note = _(
            "After SIGTERM such a process takes no new clients and ends once those that it has are gone: no client is "
            "disconnected. Its file is removed with the next apply after that."
        )
        return (f"systemctl disable {units}", f"systemctl kill --signal=TERM {units}"), note, True
    note = _(
        "A process that ends disconnects its clients; PgBouncer can wait for them since 1.23. Its file is removed with "
        "the next apply after that."
    )
    return (f"systemctl disable --now {units}",), note, False


def _units(asked: Sharing, numbers: list[int]) -> str:
    return " ".join(map(asked.unit_of, numbers))


class _Program(NamedTuple):
    """A running program: its account, its path, and its working folder where it can be seen."""

    user: str = "postgres"
    path: str = "/usr/sbin/pgbouncer"
    folder: str = ""


def _program(first: Process) -> _Program:
    """Return that of the first process; where it can't be seen, that of Debian's package."""
    try:
        if first.pid is not None:
            running = psutil.Process(first.pid)
            return _Program(running.username(), running.exe() or _Program().path, running.cwd())
    except (psutil.Error, OSError):  # it is another user's
        pass
    return _Program()


def _unit(program: _Program, asked: Sharing) -> str:
    """Return the template unit; it starts the program of the process that runs, as its user, in its folder."""
    folder = asked.folder_of("%i")
    directory = f"RuntimeDirectory={folder.removeprefix('/run/')}" if folder.startswith("/run/") else _made(folder)
    words = {"user": program.user, "program": program.path, "port": asked.port, "main": asked.main_there("%i")}
    return UNIT.format(folder=directory + (f"\nWorkingDirectory={program.folder}" if program.folder else ""), **words)


def _by_hand(first: Process, program: _Program, asked: Sharing, online: set[int]) -> tuple[str, ...]:
    """Return the commands that start what is missing without systemd; whatever runs the first one starts it again."""
    missing = [number for number in range(2, asked.count + 1) if number not in online]
    needs_end = missing and asked.config.get("so_reuseport") != "1" and first.pid is not None
    starts = (
        f"mkdir -p {asked.folder_of(number)} && setsid -f {program.path} {asked.main_there(number)}"
        for number in missing
    )
    return (*([f"kill -s INT {first.pid}"] if needs_end else []), *starts)


def _made(folder: str) -> str:
    return f"ExecStartPre=/bin/mkdir -p {folder}"
