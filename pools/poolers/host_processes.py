"""The processes and programs of a pooler on another host; `local_process` knows those of this one."""

import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from pools.hosts import processes
from pools.hosts.base import HostConnection, HostRefused
from pools.hosts.processes import ProcessFacts
from pools.models import Pooler

PREFIX = ".pooldeck-preflight-"
STOPPED_WITHIN_S = 15


class Trial(NamedTuple):
    """A program's trial start: its arguments (`@/NAME`: the path of a file), and the log line that proves it is up."""

    arguments: tuple[str, ...]
    ready: str
    seconds: int
    stop: str = "KILL"  # the signal that ends it


def of(pooler: Pooler, host: HostConnection, program: str) -> list[ProcessFacts]:
    """Return its processes: those that listen on its port, else those that were started on its main file.

    What listens can be told only of processes of the account there.
    """
    found = processes.of_programs(host, [program])
    listening = [one for one in found if pooler.port in one.ports or pooler.host in one.socket_folders]
    main = pooler.config_file or pooler.file_paths.get("pgbouncer.ini", "")
    return listening or [one for one in found if main and main in map(one.path_of, one.argv[1:])]


def program_of(pooler: Pooler, host: HostConnection, program: str, is_release: Callable[[str], bool]) -> str | None:
    """Return the path of a program there of the pooler's release: the running one, else the installed one.

    `is_release` judges the first line that it prints of its version. None where there is none, or where others than
    root and the account could replace it.
    """
    running = [one.exe for one in of(pooler, host, program)]
    installed = host.run(["sh", "-c", 'command -v "$1"', "sh", program]).stdout.decode().strip()
    for path in dict.fromkeys(path for path in (*running, installed) if path.startswith("/")):
        if is_release(_version_of(host, program, path)):
            return path
    return None


def tried(
    host: HostConnection, program: str, config_dir: str, texts: Mapping[str, str], trial: Trial, folder: str = ""
) -> tuple[str, int]:
    """Start a program there on a copy of these files, stop it, and return its log and its exit code (0: it was up).

    The copies are in `folder`, which is made, else in one that is named at random.
    """
    folder = folder or f"/tmp/{PREFIX}{secrets.token_hex(8)}"  # noqa: S108 (made there, with mode 0700)
    encoded = {name: text.encode(errors="surrogateescape") for name, text in texts.items()}
    sizes = [word for name, content in encoded.items() for word in (name, str(len(content)))]
    words = (program, config_dir, folder, str(trial.seconds), trial.ready, trial.stop, str(len(encoded)), *sizes)
    within_s = trial.seconds + STOPPED_WITHIN_S
    done = host.script("trial.sh", *words, *trial.arguments, stdin=b"".join(encoded.values()), timeout_s=within_s)
    return done.stdout.decode(errors="replace").replace(f"{folder}/", ""), done.exit_code


def owner_of(host: HostConnection, folder: str) -> str:
    """Return the name of the account that has a folder."""
    return host.run(["sh", "-c", "ls -ld . | awk '{print $3}'"], folder=folder).stdout.decode().strip()


def _version_of(host: HostConnection, program: str, path: str) -> str:
    try:
        printed = host.script("version.sh", program, path)
    except HostRefused:
        return ""
    lines = printed.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if lines and printed.exit_code == 0 else ""
