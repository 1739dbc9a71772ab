"""The processes and programs of a pooler on another host; `local_process` knows those of this one."""

from pools.hosts import processes
from pools.hosts.base import HostConnection, HostRefused
from pools.hosts.processes import ProcessFacts
from pools.models import Pooler


def of(pooler: Pooler, host: HostConnection, program: str) -> list[ProcessFacts]:
    """Return its processes: those that listen on its port, else those that were started on its main file.

    What listens can be told only of processes of the account there.
    """
    found = processes.of_programs(host, [program])
    listening = [one for one in found if pooler.port in one.ports or pooler.host in one.socket_folders]
    main = pooler.config_file or pooler.file_paths.get("pgbouncer.ini", "")
    return listening or [one for one in found if main and main in map(one.path_of, one.argv[1:])]


def program_of(pooler: Pooler, host: HostConnection, program: str, version_text: str) -> str | None:
    """Return the path of a program there of exactly this version: the running one, else the installed one.

    None where there is none, or where others than root and the account could replace it.
    """
    running = [one.exe for one in of(pooler, host, program)]
    installed = host.run(["sh", "-c", 'command -v "$1"', "sh", program]).stdout.decode().strip()
    for path in dict.fromkeys(path for path in (*running, installed) if path.startswith("/")):
        if _version_of(host, program, path) == version_text:
            return path
    return None


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
