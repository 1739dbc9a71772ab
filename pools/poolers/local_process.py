"""Finds the program of a pooler that runs on this host, by the process that listens at its address (psutil).

A preflight starts it once more, as a trial instance, by the account that has the pooler's folder. Processes and
programs of other accounts are passed over (`program_trust`).
"""

import logging
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain
from operator import itemgetter
from pathlib import Path
from traceback import clear_frames
from typing import Any
from weakref import WeakKeyDictionary

import psutil
from django.utils.translation import gettext as _

from pools.config_files import deliveries
from pools.models import Pooler
from pools.poolers import program_trust, socket_owner

log = logging.getLogger(__name__)

SEARCH_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
VERSION_TIMEOUT_S = 10
NOT_STARTED = (126, 127)  # setpriv's exit codes for a program that it may not start or does not find
Ip = IPv4Address | IPv6Address
# process → its listening sockets by kind; psutil keeps a process while it lives
_listeners_of: WeakKeyDictionary[psutil.Process, dict[str, list[Any]]] = WeakKeyDictionary()


def programs(pooler: Pooler, name: str) -> Iterator[str]:
    """Yield paths to the programs whose names begin with `name` and that listen at the pooler's address.

    For a program that was replaced or removed since it started, yield the link of its process.
    """
    for pid, path in _found(pooler, name):
        exe = Path(f"/proc/{pid}/exe")
        yield path if _is_same(path, exe) else str(exe)


def pids(pooler: Pooler, name: str) -> tuple[int, ...]:
    """Return the processes of those programs: several where they share the port."""
    return tuple(sorted(pid for pid, _ in _found(pooler, name)))


def parent(pooler: Pooler, name: str) -> int | None:
    """Return the one of those processes that started the others; None where it can't be seen, or is not one."""
    found = set(pids(pooler, name))
    first = {pid for pid in found if _parent_of(pid) not in found}
    return first.pop() if len(first) == 1 else None


def _parent_of(pid: int) -> int | None:
    with suppress(psutil.Error, OSError):
        return psutil.Process(pid).ppid()
    return None


def started_at(pid: int, name: str) -> datetime | None:
    """Return when a process of this host started whose program's name begins with `name`; None where it is not seen."""
    with suppress(psutil.Error, OSError):
        process = psutil.Process(pid)
        if process.name().startswith(name):
            return datetime.fromtimestamp(process.create_time(), UTC)
    return None


def sharing(pooler: Pooler) -> tuple[int, ...] | None:
    """Return all processes whose TCP sockets listen on the pooler's port at its address.

    None where that is not an address of this host, or where a socket's process can't be seen from this account.
    """
    own, is_socket = _own_addresses(pooler), pooler.host.startswith(("/", "@"))
    found: set[int | None] = set()
    connections: list[Any] = psutil.net_connections("tcp") if own or is_socket else []
    for one in filter(_is_listening, connections):
        if one.laddr.port == pooler.port and (is_socket or _takes(one, own)):
            found.add(one.pid)
    pids = sorted(pid for pid in found if pid is not None)
    return tuple(pids) if pids and len(pids) == len(found) else None


def socket_folders(pid: int, port: int) -> list[str]:
    """Return the folders of the Unix sockets on which a process takes clients of that port, as it names them."""
    name = f"/.s.PGSQL.{port}"
    with suppress(psutil.Error, OSError):
        paths = (str(one.laddr) for one in psutil.Process(pid).net_connections("unix"))
        return sorted({path.removesuffix(name) for path in paths if path.endswith(name)})
    return []


def peer_of(connection: socket.socket, likely: Iterable[int] = ()) -> int | None:
    """Return the process at the other end of a connection; None where that can't be seen from here.

    The likely ones are asked before all others.
    """
    if connection.family == socket.AF_UNIX:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[0]) or None
    return socket_owner.peer_of(connection, likely)


def started_on_folder(pooler: Pooler, name: str) -> list[psutil.Process]:
    """Return the processes of programs of that name that were started on the pooler's folder, listening or not.

    None where its address is not one of this host's.
    """
    found = []
    for process, _path in _named(pooler, name) if pooler.config_dir and _own_addresses(pooler) else ():
        with suppress(psutil.Error, OSError):
            if _is_on_folder(process, pooler):
                found.append(process)
    return found


def listens(process: psutil.Process) -> bool:
    """Return whether a process listens at an address now. Raises `psutil.Error`."""
    return any(_is_listening(one.status) for one in process.net_connections("tcp"))


def listens_here(pooler: Pooler) -> bool:
    """Return whether a socket of this host takes the pooler's clients, whatever process holds it."""
    if not deliveries.of(pooler).runs_here:
        return False
    kind, matches = _listening(pooler)
    return any(map(matches, psutil.net_connections(kind)))


def find_program(pooler: Pooler, name: str, search_path: str, is_release: Callable[[str], bool]) -> str | None:
    """Return the path of a program of the pooler's version: the running one, else one on the search path.

    None where neither can be read and started by the account that has the pooler's folder, or where others could
    replace it.
    """
    # the first match ends the search: each child of a Pgpool-II is a process to ask for its sockets
    candidates = chain(programs(pooler, name), _on_path(name, search_path))
    return next((path for path in _kept(candidates, pooler) if is_release(_printed(path, pooler.config_dir))), None)


def _on_path(name: str, search_path: str) -> Iterator[str]:
    for folder in search_path.split(os.pathsep):
        if folder and (path := shutil.which(name, path=folder)):
            yield path


def _kept(paths: Iterable[str], pooler: Pooler) -> Iterator[str]:
    """Yield those that none but root and the account that starts them could replace."""
    for path in paths:
        with suppress(OSError):
            file, open_to_others = program_trust.checked(path, program_trust.account_of(pooler.config_dir))
            if open_to_others is None:
                yield str(file)
            else:
                log.warning("pooler %s: %s is not started: others can write %s", pooler.pk, path, open_to_others)


def trial_started(program: str) -> str:
    """Return that a trial instance started, for the step of a preflight."""
    return _("a trial instance started on the files (%(program)s)") % {"program": program}


def why_no_trial(pooler: Pooler, name: str, version_text: str) -> str:
    """Return why no trial instance was started of the program of that name."""
    if deliveries.of(pooler).needs_host:
        text = _("no trial instance: its host has no %(version)s that only root and the panel's account can replace")
        return text % {"version": version_text}
    if not listens_here(pooler):
        return _("no trial instance: %(version)s was not found on this host") % {"version": version_text}
    for path in programs(pooler, name):
        with suppress(OSError):
            account = program_trust.account_of(pooler.config_dir)
            if open_to_others := program_trust.checked(path, account)[1]:
                return _(
                    "no trial instance: %(program)s is not started, since others than root and the account that "
                    "starts it can write %(path)s: have root own it, and take the right from others (chmod go-w)"
                ) % {"program": path, "path": open_to_others}
    return _(
        "no trial instance: %(version)s runs on this host, but this account can't read or start the program of its "
        "process, or the process belongs to neither root nor the owner of the pooler's folder"
    ) % {"version": version_text}


def as_owner(owner: os.stat_result) -> tuple[str, ...]:
    """Return the words before a command that runs as the owner where this process is root, and that ends with it.

    setpriv(1) changes the account, since Popen's `user` makes it copy this process's memory map (fork, not vfork). A
    worker that is killed can't end the trial instance that it started, so the kernel does: SIGINT lets a pooler without
    clients end with its children.
    """
    setpriv = shutil.which("setpriv", path=SEARCH_PATH) or "/usr/bin/setpriv"
    account = () if os.geteuid() else (f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}", "--clear-groups")
    return (setpriv, *account, "--pdeathsig=INT", "--")


def hand_over(folder: Path, owner: os.stat_result) -> tuple[str, ...]:
    """Give the folder and its files to the owner, and return `as_owner`."""
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid)
    return as_owner(owner)


def _found(pooler: Pooler, name: str) -> Iterator[tuple[int, str]]:
    """Yield process and program of those that listen there, as far as this account may read them.

    Asks each process for its own sockets: for a socket that several hold (a parent's, or of socket activation), the
    list of the whole host names a single process (psutil).
    """
    kind, matches = _listening(pooler)
    for process, path in _named(pooler, name):
        with suppress(psutil.Error, OSError):
            if any(map(matches, _listeners(process, kind))):
                yield process.pid, path


def _named(pooler: Pooler, name: str) -> list[tuple[psutil.Process, str]]:
    """Return the pooler's processes of programs whose names begin with `name`; first those started on its folder.

    On a host with many poolers, a search for one match then ends before it has read the sockets of the others.
    """
    if not deliveries.of(pooler).runs_here:
        return []
    found = []
    accounts = program_trust.accounts_of(pooler.config_dir)
    for process in psutil.process_iter():
        try:
            path = process.exe()
            if Path(path).name.startswith(name) and program_trust.is_of(process, accounts):
                found.append((not _is_on_folder(process, pooler), process, path))
        except (psutil.Error, OSError) as error:  # it ended, or belongs to another account
            clear_frames(error.__traceback__)  # psutil keeps the error in one of them, and so all that callers hold
    return [(process, path) for _, process, path in sorted(found, key=itemgetter(0))]


def _is_on_folder(process: psutil.Process, pooler: Pooler) -> bool:
    return any(pooler.config_dir in word for word in process.cmdline())


def _listeners(process: psutil.Process, kind: str) -> list[Any]:
    """Return the sockets on which a process listens, asked once it has any: poolers open them when they start.

    Each question reads all connections of the host: 0.1 s with 4,000 of them in TIME_WAIT.
    """
    known = _listeners_of.setdefault(process, {})
    if not known.get(kind):
        known[kind] = [one for one in process.net_connections(kind) if kind == "unix" or _is_listening(one.status)]
    return known[kind]


def _is_listening(status: str) -> bool:
    return bool(status == psutil.CONN_LISTEN)


def _listening(pooler: Pooler) -> tuple[str, Callable[[Any], bool]]:
    """Return psutil's kind of the sockets that may take the pooler's clients, and a test whether one of them does."""
    if pooler.host.startswith("/"):
        path = f"{pooler.host}/.s.PGSQL.{pooler.port}"
        return "unix", lambda one: bool(one.laddr == path)
    own = _own_addresses(pooler)

    def matches(one: Any) -> bool:  # noqa: ANN401 (psutil's own type is private)
        return bool(own) and _is_listening(one.status) and one.laddr.port == pooler.port and _takes(one.laddr.ip, own)

    return "tcp", matches


def _takes(listening: str, own: set[Ip]) -> bool:
    """Return whether a TCP socket that listens at an address takes clients of one of these."""
    ip = _ip(listening)
    return ip.is_unspecified or ip in own


def _own_addresses(pooler: Pooler) -> set[Ip]:
    """Return the addresses of the pooler's host that belong to this host."""
    try:
        found = socket.getaddrinfo(pooler.host, pooler.port, type=socket.SOCK_DGRAM)
    except OSError:
        return set()
    interfaces = chain.from_iterable(psutil.net_if_addrs().values())
    own_addresses = {_ip(one.address) for one in interfaces if one.family in (socket.AF_INET, socket.AF_INET6)}
    named = {_ip(str(address[0])) for *_, address in found}
    return {ip for ip in named if ip.is_loopback or ip in own_addresses}


def _ip(text: str) -> Ip:
    """Parse an address without its zone; a mapped IPv4 address as IPv4."""
    found = ip_address(text.partition("%")[0])
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def _is_same(path: str, exe: Path) -> bool:
    """Return whether that file is still the one that runs."""
    try:
        return Path(path).samefile(exe)
    except OSError:
        return False


def run(argv: Sequence[str], folder: Path, within_s: float) -> "subprocess.CompletedProcess[str]":
    """Run a program that was found to its end in a folder, with nothing of this process's environment.

    Raises OSError, and SubprocessError at the deadline.
    """
    return subprocess.run(
        argv,
        env=program_trust.environment(SEARCH_PATH),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=within_s,
        check=False,
    )


def _printed(path: str, config_dir: str) -> str:
    """Return the output of `--version`; empty where it can't be started."""
    try:
        file = Path(path).stat()
        identity = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
        return _version_of(path, identity, as_owner(Path(config_dir).stat()))
    except (OSError, subprocess.SubprocessError):
        return ""


@lru_cache(maxsize=64)
def _version_of(path: str, identity: tuple[int, ...], account: tuple[str, ...]) -> str:
    """Return the output of `--version`, asked once of the same file; raise OSError or SubprocessError."""
    done = run([*account, path, "--version"], Path("/"), VERSION_TIMEOUT_S)
    if done.returncode in NOT_STARTED:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return f"{done.stdout}{done.stderr}"
