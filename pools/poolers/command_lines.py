"""The command line with which a pooler's program was started, on this host or on one that is reached by SSH."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import NamedTuple

import psutil

from pools.config_files import deliveries
from pools.hosts import processes
from pools.hosts.base import HostRefused
from pools.hosts.processes import ProcessFacts
from pools.models import Pooler
from pools.poolers import local_process

NUMBER = re.compile(rb"\d+")  # Pgpool-II ends it with NUL
SHOWN = 'cat "/proc/$1/cmdline" && echo && readlink "/proc/$1/cwd"'


class CommandLine(NamedTuple):
    """Its words, and the folder from which relative paths are taken; empty where that can't be seen."""

    argv: tuple[str, ...]
    folder: str

    def path_of(self, file: str) -> str:
        """Return the absolute path of a file that it names."""
        return str(PurePosixPath(self.folder or "/", file))


def of_worker(pooler: Pooler, program: str, worker: int) -> CommandLine | None:
    """Return that of the process that started a worker, else the worker's own; None where it can't be seen."""
    if deliveries.of(pooler).runs_here:
        return _of_pid(_parent(worker, program))
    found = {one.pid: one for one in _of_programs(pooler, program)}
    one = found.get(worker)
    return _of_facts(found.get(one.parent) or one) if one else None


def of_pid_file(pooler: Pooler, program: str, path: str) -> CommandLine | None:
    """Return that of the process whose number a file has; None where there is none, or it is another program's."""
    if not path.startswith("/"):
        return None
    with deliveries.of(pooler).connected(pooler) as host:
        try:
            pid = NUMBER.match(host.read_file(path) or b"") if host else None
        except HostRefused:
            return None
        if host is None or pid is None:
            return None
        found = host.run(["sh", "-c", SHOWN, "sh", pid[0].decode()]).stdout.decode(errors="replace")
    line, _end, folder = found.partition("\0\n")
    argv = tuple(line.split("\0"))
    at = next((number for number, word in enumerate(argv) if PurePosixPath(word).name == program), None)
    return None if at is None else CommandLine(argv[at:], folder.strip())


def of_listener(pooler: Pooler, program: str) -> CommandLine | None:
    """Return that of the process that has the pooler's port and started the others; None where it can't be seen."""
    if deliveries.of(pooler).runs_here:
        pid = local_process.parent(pooler, program)
        return _of_pid(pid) if pid else None
    found = _of_programs(pooler, program)
    listening = [one for one in found if pooler.port in one.ports or pooler.host in one.socket_folders]
    pids = {one.pid for one in listening}
    parents = [one for one in listening if one.parent not in pids]
    return _of_facts(parents[0]) if len(parents) == 1 else None


def _of_programs(pooler: Pooler, program: str) -> Sequence[ProcessFacts]:
    with deliveries.of(pooler).connected(pooler) as host:
        return processes.of_programs(host, [program]) if host else []


def _of_facts(facts: ProcessFacts) -> CommandLine:
    return CommandLine(facts.argv, facts.cwd)


def _parent(pid: int, program: str) -> int:
    with suppress(psutil.Error, OSError):
        parent = psutil.Process(pid).parent()
        if parent and parent.name().startswith(program):
            return parent.pid
    return pid


def _of_pid(pid: int) -> CommandLine | None:
    folder = ""
    try:
        process = psutil.Process(pid)
        argv = tuple(process.cmdline())
        with suppress(psutil.AccessDenied):
            folder = process.cwd()
    except (psutil.Error, OSError):
        return None
    return CommandLine(argv, folder) if argv else None
