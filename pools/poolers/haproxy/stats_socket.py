"""Client of HAProxy's Runtime API: one command per connection to the stats socket that haproxy.cfg names.

A watched HAProxy has no file here: its stats socket, or its stats page, was given with its registration.
"""

import csv
import errno
import os
import re
import socket
from collections.abc import Mapping

from django.utils.translation import gettext as _

from core.lib import addresses
from pools.config_files import pooler_files
from pools.errors import PoolerUnreachable
from pools.hosts.base import UnsafeFolder
from pools.hosts.keys import socket_path
from pools.models import Pooler, identifiers
from pools.poolers.haproxy import stats_page
from pools.poolers.pooler_login import LoginAddress, connected

MAIN = "haproxy.cfg"
DIGEST = "POOLDECK_DIGEST"  # the environment variable that identifies the file that a worker has read
WORDS = {"stat": "show stat", "info": "show info", "servers": "show servers state", "sess": "show sess"}
TIMEOUT_S = 5
CHUNK = 65_536
DIRECTIVE = re.compile(r"^[ \t]*stats[ \t]+socket[ \t]+(?:unix@)?(/\S+)", re.MULTILINE)
PAIR = re.compile(r"(\w+)=(\S+)")
OF_SESSION = ("proto", "src", "fe", "be", "srv", "age", "calls", "exp")
Rows = list[dict[str, object]]


def path_of(pooler: Pooler) -> str:
    """Return the path of the first Unix `stats socket` in haproxy.cfg. Raises `PoolerUnreachable`."""
    content = main_file(pooler)
    if content is None:
        params = {"folder": pooler.config_dir, "file": MAIN}
        raise PoolerUnreachable(_("%(folder)s has no %(file)s: register the folder that has it") % params)
    found = DIRECTIVE.search(content.decode(errors="replace"))
    if not found:
        raise PoolerUnreachable(
            _(
                "%(folder)s/%(file)s has no stats socket: add the line `stats socket "
                "/run/haproxy/admin.sock mode 660 level admin` to its global section and restart HAProxy"
            )
            % {"folder": pooler.config_dir, "file": MAIN}
        )
    return found[1]


def main_file(pooler: Pooler) -> bytes | None:
    """Return the bytes of haproxy.cfg; None where there is none. Raises `PoolerUnreachable`."""
    try:
        return pooler_files.read(pooler, [MAIN])[MAIN]
    except (UnsafeFolder, OSError) as error:
        params = {"file": MAIN, "pooler": pooler, "error": error}
        raise PoolerUnreachable(_("%(file)s of pooler %(pooler)s can't be read: %(error)s") % params) from None


def ask(pooler: Pooler, command: str) -> str:
    """Return the response to one command. Raises `PoolerUnreachable`."""
    path = _address_of(pooler)
    try:
        answer = _answer(pooler, path, command)
    except PermissionError:
        raise PoolerUnreachable(
            _("this account may not use %(path)s: give the socket a `mode` and a `group` that admit the panel's worker")
            % {"path": path}
        ) from None
    except OSError as error:
        text = _("pooler %(pooler)s does not answer at %(path)s: %(error)s")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler, "path": path, "error": error}) from None
    if answer.startswith("Permission denied"):
        raise PoolerUnreachable(
            _("%(path)s refuses `%(command)s`: give the stats socket `level admin` in %(file)s")
            % {"path": path, "command": command, "file": MAIN}
        )
    return answer


def _address_of(pooler: Pooler) -> str:
    given = pooler.stats_address
    return given if given and (pooler.is_watched or not stats_page.is_page(given)) else path_of(pooler)


def _answer(pooler: Pooler, path: str, command: str) -> str:
    """Return the response at a Unix socket, or at host:port; through a tunnel where only its own host knows it.

    Raises `OSError`, also for a forbidden address, and `PoolerUnreachable`.
    """
    place = _place(path)

    def ask_there(address: LoginAddress) -> str:
        way = (address["host"], address["port"])
        is_direct = way == place or not way[0].startswith("/")
        answer = _sent(_connected(path, way) if is_direct else _by_socket(socket_path(*way)), command)
        if not is_direct and not answer:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        return answer

    return connected(pooler, ask_there, *place)


def _sent(connection: socket.socket, command: str) -> str:
    with connection:
        connection.sendall(f"{command}\n".encode())
        return b"".join(iter(lambda: connection.recv(CHUNK), b"")).decode(errors="replace")


def problem_of(address: str) -> str:
    """Return why this can't be the stats socket of a watched HAProxy, in a sentence; empty where it can."""
    host, port = _host_and_port(address)
    if address.startswith("/"):
        return identifiers.line_problem(address)
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        text = _("%(address)s is neither a path, nor host:port, nor the URL of a stats page")
        return text % {"address": address}
    return addresses.refusal(host, int(port))


def show(pooler: Pooler, word: str) -> Rows:
    """Return the rows of one of `WORDS`; none for another word. Raises `PoolerUnreachable`."""
    if stats_page.is_page(pooler.stats_address) and pooler.is_watched:
        return of_stat(stats_page.csv(pooler)) if word == "stat" else []
    return _READERS[word](ask(pooler, WORDS[word])) if word in WORDS else []


def info(pooler: Pooler) -> dict[str, str]:
    """Return name → value of SHOW INFO, or of a stats page its Version alone. Raises `PoolerUnreachable`."""
    if stats_page.is_page(pooler.stats_address) and pooler.is_watched:
        return {"Version": stats_page.version(pooler)}
    return dict(_pairs(ask(pooler, WORDS["info"])))


def digest(pooler: Pooler) -> str:
    """Return the digest in the file that the worker has read; empty for none. Raises `PoolerUnreachable`."""
    found = re.search(rf"^{DIGEST}=(\S*)$", ask(pooler, f"show env {DIGEST}"), re.MULTILINE)
    return found[1] if found else ""


def of_stat(answer: str) -> Rows:
    """Parse SHOW STAT into rows by column name, without columns that are empty in all rows."""
    rows = list(csv.DictReader(answer.removeprefix("# ").splitlines()))
    used = [name for name in (rows[0] if rows else ()) if name not in ("", "-") and any(row[name] for row in rows)]
    return [{name: row[name] for name in used} for row in rows]


def of_servers(answer: str) -> Rows:
    """Parse SHOW SERVERS STATE, whose first line is the version of its format."""
    lines = [line.removeprefix("# ").split() for line in answer.splitlines()[1:] if line.strip()]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]


def of_sessions(answer: str) -> Rows:
    """Parse SHOW SESS: the client, the server and the age of each session."""
    return [_session(dict(PAIR.findall(line))) for line in answer.splitlines() if line.startswith("0x")]


def _connected(address: str, place: tuple[str, int]) -> socket.socket:
    if address.startswith("/"):
        return _by_socket(address)
    if reason := problem_of(address):
        raise OSError(reason)
    return socket.create_connection(place, TIMEOUT_S)


def _by_socket(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT_S)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _place(address: str) -> tuple[str, int]:
    """Return host and port of an address; the path of a socket, and 0."""
    if address.startswith("/"):
        return address, 0
    host, port = _host_and_port(address)
    return host, int(port) if port.isdecimal() else 0


def _host_and_port(address: str) -> tuple[str, str]:
    host, _colon, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), port


def _session(pairs: Mapping[str, str]) -> dict[str, object]:
    return {name: pairs.get(name, "") for name in OF_SESSION}


def _of_info(answer: str) -> Rows:
    return [{"item": name, "value": value} for name, value in _pairs(answer)]


def _pairs(answer: str) -> list[tuple[str, str]]:
    halves = (line.partition(": ") for line in answer.splitlines() if ": " in line)
    return [(name, value) for name, _, value in halves]


_READERS = {"stat": of_stat, "info": _of_info, "servers": of_servers, "sess": of_sessions}
