"""HAProxy's Runtime API: one command for each connection to the stats socket that haproxy.cfg names."""

import csv
import re
import socket
from collections.abc import Mapping

from pools.config_files import atomic_write
from pools.errors import PoolerUnreachable
from pools.models import Pooler

MAIN = "haproxy.cfg"
DIGEST = "POOLDECK_DIGEST"  # the environment variable that tells which file a worker has read
WORDS = {"stat": "show stat", "info": "show info", "servers": "show servers state", "sess": "show sess"}
TIMEOUT_S = 5
CHUNK = 65_536
DIRECTIVE = re.compile(r"^[ \t]*stats[ \t]+socket[ \t]+(?:unix@)?(/\S+)", re.MULTILINE)
PAIR = re.compile(r"(\w+)=(\S+)")
OF_SESSION = ("proto", "src", "fe", "be", "srv", "age", "calls", "exp")
Rows = list[dict[str, object]]


def path_of(pooler: Pooler) -> str:
    """The path of the first `stats socket` in haproxy.cfg that is a Unix socket. Raises `PoolerUnreachable`."""
    try:
        content = atomic_write.read(pooler.config_dir, [MAIN])[MAIN]
    except (atomic_write.UnsafeFolder, OSError) as error:
        raise PoolerUnreachable(f"{MAIN} of pooler {pooler} can't be read: {error}") from None
    if content is None:
        raise PoolerUnreachable(f"{pooler.config_dir} holds no {MAIN}: register the folder that it lies in")
    found = DIRECTIVE.search(content.decode(errors="replace"))
    if not found:
        raise PoolerUnreachable(
            f"{pooler.config_dir}/{MAIN} names no stats socket: add the line "
            "`stats socket /run/haproxy/admin.sock mode 660 level admin` to its global section and restart HAProxy"
        )
    return found[1]


def ask(pooler: Pooler, command: str) -> str:
    """The answer to one command. Raises `PoolerUnreachable`."""
    path = path_of(pooler)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_S)
            connection.connect(path)
            connection.sendall(f"{command}\n".encode())
            answer = b"".join(iter(lambda: connection.recv(CHUNK), b"")).decode(errors="replace")
    except PermissionError:
        raise PoolerUnreachable(
            f"this account may not use {path}: give the socket a `mode` and a `group` that let the panel's worker in"
        ) from None
    except OSError as error:
        raise PoolerUnreachable(f"pooler {pooler} does not answer at {path}: {error}") from None
    if answer.startswith("Permission denied"):
        raise PoolerUnreachable(f"{path} refuses `{command}`: give the stats socket `level admin` in {MAIN}")
    return answer


def show(pooler: Pooler, word: str) -> Rows:
    """The rows of one of `WORDS`; none for another word. Raises `PoolerUnreachable`."""
    return _READERS[word](ask(pooler, WORDS[word])) if word in WORDS else []


def info(pooler: Pooler) -> dict[str, str]:
    """Name → value of SHOW INFO. Raises `PoolerUnreachable`."""
    return dict(_pairs(ask(pooler, WORDS["info"])))


def digest(pooler: Pooler) -> str:
    """The digest that stood in the file which the worker has read; empty for none. Raises `PoolerUnreachable`."""
    found = re.search(rf"^{DIGEST}=(\S*)$", ask(pooler, f"show env {DIGEST}"), re.MULTILINE)
    return found[1] if found else ""


def of_stat(answer: str) -> Rows:
    """Rows of SHOW STAT by the names of its columns; columns without a value in any row are left out."""
    rows = list(csv.DictReader(answer.removeprefix("# ").splitlines()))
    used = [name for name in (rows[0] if rows else ()) if name not in ("", "-") and any(row[name] for row in rows)]
    return [{name: row[name] for name in used} for row in rows]


def of_servers(answer: str) -> Rows:
    """Rows of SHOW SERVERS STATE, whose first line is the version of its format."""
    lines = [line.removeprefix("# ").split() for line in answer.splitlines()[1:] if line.strip()]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]


def of_sessions(answer: str) -> Rows:
    """Rows of SHOW SESS: who is connected to which server, and for how long."""
    return [_session(dict(PAIR.findall(line))) for line in answer.splitlines() if line.startswith("0x")]


def _session(pairs: Mapping[str, str]) -> dict[str, object]:
    return {name: pairs.get(name, "") for name in OF_SESSION}


def _of_info(answer: str) -> Rows:
    return [{"item": name, "value": value} for name, value in _pairs(answer)]


def _pairs(answer: str) -> list[tuple[str, str]]:
    halves = (line.partition(": ") for line in answer.splitlines() if ": " in line)
    return [(name, value) for name, _, value in halves]


_READERS = {"stat": of_stat, "info": _of_info, "servers": of_servers, "sess": of_sessions}
