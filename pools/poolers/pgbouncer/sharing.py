"""What lets several PgBouncers of one pooler share its port: a main file of each, which the panel writes.

PgBouncer works on one core. With so_reuseport each process listens on the same port; each needs a Unix socket, a pid
file and a log of its own. Since 1.19 they are peers, so that a cancel request reaches the process of its session. The
first process keeps the operator's main file, and the files of the others are copies of it with lines of their own.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from pools.config_files import pooler_files
from pools.models import Pooler, ProcessState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import render
from pools.poolers.pgbouncer.global_settings import SETTINGS, derived_of
from pools.poolers.pgbouncer.operators_config import Reading
from pools.poolers.pgbouncer.render import MAIN
from pools.poolers.settings_schema import Version

PEERS_SINCE = (1, 19)
USUAL_PORT = 6432
HEAD = "; Pooldeck writes this file and replaces it with each apply: a copy of pgbouncer.ini for a further process.\n"
OWN = "; of this process alone"
NAME = re.compile(r"pgbouncer-([1-9]\d?)\.ini")
OWN_LINES = re.compile(rf"(?m)^{OWN}\n(?:[a-z_]+ = .*\n)+")
PEER = re.compile(r"(?m)^(\d+) = host=(\S+) port=(\d+)$")
SETTINGS_OF_ALL = ("so_reuseport", "peer_id")


def name_of(number: int) -> str:
    """Return the panel's name for the main file of a process, counted from 1."""
    return MAIN if number == 1 else f"pgbouncer-{number}.ini"


def numbers_in(names: Iterable[str]) -> Iterator[int]:
    """Yield the numbers of further processes that these names of main files have."""
    return (int(found[1]) for name in names if (found := NAME.fullmatch(name)))


def number_of(pooler: Pooler, name: str) -> int:
    """Return the number of the process that was started with the main file of this name; 0 for one of another name."""
    first = PurePosixPath(pooler_files.path_of(pooler, MAIN)).name
    return 1 if name == first else next(numbers_in([name]), 0)


def names_of(pooler: Pooler) -> tuple[str, ...]:
    """Return the panel's names for the main files that further processes of a pooler have, or are to get."""
    most = max(pooler.desired_processes, *pooler.applied_processes, 1)
    return tuple(map(name_of, range(2, most + 1)))


def has_further_processes(pooler: Pooler) -> bool:
    """Return whether the panel keeps main files of further processes, or is to."""
    return not pooler.is_watched and max(pooler.desired_processes, *pooler.applied_processes, 1) > 1


def online(pooler: Pooler) -> set[int]:
    """Return the numbers of the processes that the last check found online."""
    names = (str(one["name"]) for one in pooler.processes if one["state"] == ProcessState.ONLINE)
    return {number for name in names if (number := number_of(pooler, name))}


def has_unread(pooler: Pooler) -> bool:
    """Return whether a process has come since the last apply, or one that was too many has gone."""
    if not has_further_processes(pooler):
        return False
    now, applied = online(pooler), set(pooler.applied_processes)
    if not now.issuperset(range(1, pooler.desired_processes + 1)):
        return False
    return bool(now - applied or {number for number in applied - now if number > pooler.desired_processes})


def awaited(pooler: Pooler) -> str:
    """Return a sentence about the requested processes that were not read back yet; empty once all were."""
    if not has_further_processes(pooler):
        return ""
    now, count = online(pooler), pooler.desired_processes
    missing = [name_of(number) for number in range(1, count + 1) if number not in now]
    surplus = [name_of(number) for number in sorted(now) if number > count]
    words = {"online": len(now), "count": count, "missing": ", ".join(missing), "surplus": ", ".join(surplus)}
    if now == {1} and missing and any(one["name"] == "so_reuseport" for one in pooler.needs_restart):
        text = _(
            "%(online)d of %(count)d processes answers: the one that runs was started without so_reuseport, which is "
            "read at the start alone, so it has to be restarted before others can listen on its port"
        )
    elif missing:
        text = ngettext(
            "%(online)d of %(count)d processes answers; to be started: %(missing)s",
            "%(online)d of %(count)d processes answer; to be started: %(missing)s",
            len(now),
        )
    elif surplus:
        text = _("%(count)d of the processes are asked for: stop that of %(surplus)s, whose file is removed after it")
    else:
        text = _("each of the processes answers, and the next apply reads them back") if has_unread(pooler) else ""
    return text % words


def panel_main_files(texts: Mapping[str, str | bytes | None]) -> list[str]:
    """Return the names of those files that are main files of further processes, and the panel's own."""
    return [name for name, content in texts.items() if NAME.fullmatch(name) and _is_panels(content)]


def _is_panels(content: str | bytes | None) -> bool:
    return content.startswith(HEAD.encode()) if isinstance(content, bytes) else (content or "").startswith(HEAD)


def copied(text: str) -> str:
    """Return the part of a further process's main file that was copied from the pooler's main file."""
    return OWN_LINES.sub("", text.removeprefix(HEAD))


def of_process(pooler: Pooler, name: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of pooldeck_settings.ini as the process of this main file has them."""
    own = {"peer_id": str(number_of(pooler, name))} if "peer_id" in wanted else {}
    return {**wanted, **own}


def peer_faults(rows: Iterable[Mapping[str, object]], databases: str) -> list[str]:
    """List how SHOW PEERS differs from the section of a pooldeck.ini."""
    expected = {number: f"{host} {port}" for number, host, port in PEER.findall(render.peers_of(databases))}
    live = {str(row["peer_id"]): f"{row['host']} {row['port']}" for row in rows}
    if live == expected:
        return []
    text = _("the pooler has the peers %(live)s, not %(wanted)s")
    return [text % {"live": ", ".join(sorted(live)) or _("none"), "wanted": ", ".join(sorted(expected)) or _("none")}]


@dataclass(frozen=True)
class Sharing:
    """The processes of one draft: `count` are asked for, `running` are the numbers of further ones that answer.

    `config` is SHOW CONFIG of the first. With `stays`, so_reuseport is kept for a single process, which runs with it:
    so the number can grow again without a restart.
    """

    version: Version = (1, 18)
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    count: int = 1
    running: frozenset[int] = frozenset()
    stays: bool = False

    @cached_property
    def further(self) -> tuple[int, ...]:
        """The numbers of the further processes with a file; one that is too many keeps it while it runs."""
        return tuple(sorted({*range(2, self.count + 1), *self.running}))

    @property
    def settings(self) -> dict[str, str]:
        """The settings of all processes; the files of the others set the number anew."""
        if not self.further:
            return {"so_reuseport": "1"} if self.stays else {}
        return {"so_reuseport": "1"} | ({"peer_id": "1"} if self.has_peers else {})

    def settings_beside(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Return `settings`; raises `Rejected` where any of them was asked for with another value."""
        followed = self.settings.items() if self.further else ()
        if clashes := [name for name, value in followed if asked.get(name, value) != value]:
            text = _("%(names)s follow from the number of processes: leave them out of the settings")
            raise Rejected(text % {"names": ", ".join(clashes)}, settings=True)
        return self.settings

    @property
    def has_peers(self) -> bool:
        """True if the release has peering."""
        return self.version >= PEERS_SINCE

    @property
    def port(self) -> int:
        """The port that they share, which the names of their sockets have."""
        return int(self.config.get("listen_port") or USUAL_PORT)

    @property
    def stem(self) -> str:
        """The stem of the names of units and folders; two poolers of a host differ in it by their ports."""
        return "pgbouncer" if self.port == USUAL_PORT else f"pgbouncer-{self.port}"

    @property
    def socket_folder(self) -> str:
        """The folder of the first one's Unix socket."""
        return self.config.get("unix_socket_dir", "").split(",")[0].strip()

    def unit_of(self, number: int) -> str:
        """Return the instance of the template unit that runs a further process."""
        return f"{self.stem}@{number}"

    def main_there(self, number: int | str) -> str:
        """Return the path of a further process's main file as PgBouncer's host has it."""
        return str(PurePosixPath(self.config["conffile"]).with_name(f"pgbouncer-{number}.ini"))

    def folder_of(self, number: int | str) -> str:
        """Return the socket folder of a process: for a further one, none that the first one's unit removes."""
        if number == 1:
            return self.socket_folder
        its = PurePosixPath(self.socket_folder)
        in_run = its.is_relative_to("/run") or its.is_relative_to("/var/run")
        return f"/run/{self.stem}-{number}" if in_run else f"{its}/{self.stem}-{number}"

    @property
    def peers(self) -> str:
        """The section that names the socket of each process; empty for one, and before 1.19."""
        if not (self.further and self.has_peers):
            return ""
        lines = (f"{number} = host={self.folder_of(number)} port={self.port}\n" for number in (1, *self.further))
        return f"{render.PEERS_HEADER}\n{''.join(lines)}"

    def lines_of(self, number: int) -> tuple[str, ...]:
        """Return the settings lines of a further process's own main file."""
        folder, log = self.folder_of(number), PurePosixPath(self.config.get("logfile", ""))
        return (
            *([f"peer_id = {number}"] if self.has_peers else []),
            f"unix_socket_dir = {folder}",
            f"pidfile = {folder}/pgbouncer.pid",
            *([f"logfile = {log.with_stem(f'{log.stem}-{number}')}"] if log.name else []),
        )

    def mains(self, main: str, reading: Reading, ours: Mapping[str, str]) -> dict[str, str]:
        """Return the main files of the further processes. Raises `Rejected` where they could not run beside the first.

        `reading` is what the first one's main file reads, `ours` are the texts of the panel's files.
        """
        if not self.further:
            return {}
        self.refuse_unfit()
        found = {name_of(number): self._main(main, number, reading) for number in self.further}
        for number in self.further:
            self._refuse_overridden(reading.with_main(found[name_of(number)], ours), number)
        return found

    def refuse_unfit(self) -> None:
        """Raise `Rejected` where no process can be put beside the one that runs."""
        if not self.socket_folder.startswith("/"):
            text = _("PgBouncer has no folder for its Unix socket: set unix_socket_dir, restart it, then apply again")
            raise Rejected(text, settings=True)
        if not self.config.get("conffile", "").startswith("/"):
            text = _("PgBouncer was started with a relative path of its main file: start it with the whole path first")
            raise Rejected(text, settings=True)

    def _main(self, main: str, number: int, reading: Reading) -> str:
        """Add the lines at the end of [pgbouncer], below the panel's settings: the last value of a key counts."""

        def goes_on(path: str) -> bool:
            return PurePosixPath(path).name == SETTINGS or reading.goes_on(path)

        return HEAD + render.with_last_lines(main, OWN, *self.lines_of(number), goes_on=goes_on)

    def _refuse_overridden(self, reading: Reading, number: int) -> None:
        values = reading.values("pgbouncer")
        for line in self.lines_of(number):
            name, _sign, value = line.partition(" = ")
            if values.get(name) != value:
                words = {"name": name, "value": values.get(name, ""), "number": number}
                text = _(
                    "process %(number)d needs a %(name)s of its own, and an included file sets it to %(value)s below: "
                    "set it in pgbouncer.ini"
                )
                raise Rejected(text % words, settings=True)


def copies_behind(texts: Mapping[str, str]) -> str:
    """Return that pgbouncer.ini was edited since the main files of further processes were copied; empty where not."""
    behind = [name for name in panel_main_files(texts) if copied(texts[name]) != texts.get(MAIN, "")]
    if not behind:
        return ""
    return _("%(names)s get what was changed in pgbouncer.ini with the next apply") % {"names": ", ".join(behind)}


def settled_count(settled: Mapping[str, str]) -> int:
    """Return the number of processes that the files of the last apply are for."""
    return 1 + len(panel_main_files(settled))


def was_shared(settled: Mapping[str, str]) -> bool:
    """Return whether the files of the last apply let processes share the port."""
    return "so_reuseport" in derived_of(settled.get(SETTINGS, ""))


def refuse_operators_main_files(pooler: Pooler, running: Iterable[str], disk: Mapping[str, bytes | None]) -> None:
    """Raise `Rejected` for main files, of processes that run or in the folder, that are the operator's own."""
    panels = {PurePosixPath(pooler_files.path_of(pooler, MAIN)).name, *panel_main_files(disk)}
    there = {name for name, content in disk.items() if NAME.fullmatch(name) and content is not None}
    if own := {*running, *there} - panels:
        text = _(
            "the panel writes the main files of further processes itself, and %(names)s is not its own: end that "
            "process and move the file away, or ask for one process"
        )
        raise Rejected(text % {"names": ", ".join(sorted(own))}, settings=True)
