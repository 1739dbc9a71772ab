"""Pgpool-II's control port (PCP): reload, children, attach and detach, spoken directly, so nothing need be installed.

A message is one byte for its kind, four for its length (themselves included), then the text, each word ended by
a NUL. The login hashes the password as pcp.conf stores it with the user and a salt (src/libs/pcp/pcp.c).
"""

import hashlib
import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.utils.translation import gettext as _

from core.lib.crypto import SealBroken
from pools.errors import PoolerUnreachable
from pools.hosts.keys import socket_path
from pools.models import Pooler
from pools.poolers.faults import Rejected
from pools.poolers.pooler_login import connected

TIMEOUT_S = 10
LARGEST_BYTES = 1024 * 1024
RELOAD, PROCESSES, NODE, ATTACH, DETACH = b"Z", b"P", b"I", b"C", b"D"
HERE = b"l"  # this Pgpool-II only, not the whole watchdog cluster
ALL = "0"  # children
OF_CHILD, OVER = b"ProcessInfo", b"CommandComplete"  # the messages that answer PROCESSES
OF_NODE = b"NodeInfo"  # the one that answers NODE; before 4.3 its words are those of OVER
USER_AND_DATABASE = 4  # these words after the first three are the clients'
WAITS = b"Wait for connection"
# the words of a message about a child, as SHOW POOL_POOLS of 4.3 names them; 4.6 and 4.7 have more after these
COLUMNS = (
    *("pool_pid", "start_time", "client_connection_count", "pool_id", "backend_id", "database", "username"),
    *("backend_connection_time", "client_connection_time", "client_disconnection_time", "client_idle_duration"),
    *("majorversion", "minorversion", "pool_counter", "pool_backendpid", "pool_connected", "status"),
)
NOTICES = (b"N", b"n")


@dataclass(frozen=True)
class Child:
    """A process that serves one client after the other: whether it waits for the next, after how many."""

    waits: bool
    served: str


def reload_config(pooler: Pooler) -> None:
    """Have the program read its files again; nothing tells what it made of them. Raises `PoolerUnreachable`."""
    _command(pooler, RELOAD, HERE)


def children(pooler: Pooler) -> dict[str, Child]:
    """Each child by its process and start, which no later one has; takes none of them. Raises `PoolerUnreachable`."""
    with _session(pooler) as connection:
        _send(connection, PROCESSES, _words(ALL))
        return dict(_children(pooler, connection))


def pools(pooler: Pooler) -> list[dict[str, object]]:
    """Return the rows of SHOW POOL_POOLS without taking a child, so that it answers while all of them serve.

    Raises `PoolerUnreachable`.
    """
    with _session(pooler) as connection:
        _send(connection, PROCESSES, _words(ALL))
        return [dict(zip(COLUMNS, map(_plain, words), strict=False)) for words in _processes(pooler, connection)]


def backends(pooler: Pooler, numbers: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return host and port of backends by their number; takes no child. Raises `PoolerUnreachable`, `Rejected`."""
    with _session(pooler) as connection:
        return {number: _address(pooler, connection, number) for number in numbers}


def attach_node(pooler: Pooler, node: int) -> None:
    """Let queries go to a backend again; raises `Rejected` with Pgpool-II's words, `PoolerUnreachable`."""
    _command(pooler, ATTACH, _words(str(node)))


def detach_node(pooler: Pooler, node: int) -> None:
    """Send no more queries to a backend; raises `Rejected` with Pgpool-II's words, `PoolerUnreachable`."""
    _command(pooler, DETACH, _words(str(node)))


def log_in(pooler: Pooler) -> None:
    """Log in to PCP and out again, as proof of the login; raises `PoolerUnreachable`."""
    with _session(pooler):
        pass


def stored(password: str) -> str:
    """Return the password in the form of pcp.conf."""
    return _md5(password.encode())


def _command(pooler: Pooler, kind: bytes, text: bytes) -> None:
    with _session(pooler) as connection:
        _send(connection, kind, text)
        _expect(pooler, connection, kind.lower())


def _children(pooler: Pooler, connection: socket.socket) -> Iterator[tuple[str, Child]]:
    for process, started, served, *others in _processes(pooler, connection):
        # The answer reads "2026-11-22 18:55:27 (4:59 before process restarting)".
        since = started.partition(b" (")[0]
        yield _plain(process + b" of " + since), Child(WAITS in others[USER_AND_DATABASE:], _plain(served))


def _processes(pooler: Pooler, connection: socket.socket) -> Iterator[list[bytes]]:
    """Yield messages with a word for each column of SHOW POOL_POOLS, several for one child."""
    while True:
        kind, *words = _expect(pooler, connection, PROCESSES.lower()).split(b"\0")
        if kind == OVER:
            return
        if kind == OF_CHILD:
            yield words


def _address(pooler: Pooler, connection: socket.socket, number: str) -> tuple[str, int]:
    """Read the messages about a backend, whose words begin with its host and port."""
    found: list[bytes] = []
    _send(connection, NODE, _words(number))
    while True:
        kind, *words = _expect(pooler, connection, NODE.lower()).split(b"\0")
        if kind == OF_NODE or (kind == OVER and not found):
            found = words
        if kind == OVER:
            host, port, *_others = *map(_plain, found), "", ""
            return host, int(port) if port.isdigit() else 0


@contextmanager
def _session(pooler: Pooler) -> Iterator[socket.socket]:
    """Log in to the control port."""
    if pooler.pcp_port is None:
        raise PoolerUnreachable(
            _("pooler %(pooler)s has no PCP port: give it (pcp_port in its pgpool.conf)") % {"pooler": pooler}
        )
    try:
        with connected(pooler, lambda address: _logged_in(pooler, **address), port=pooler.pcp_port) as connection:
            yield connection
            _send(connection, b"X")
    except OSError as error:
        reason = f"{pooler.host} port {pooler.pcp_port}: {error.strerror or error}"
        text = _("the PCP port of pooler %(pooler)s can't be reached at %(reason)s")
        raise PoolerUnreachable.at(pooler, text % {"pooler": pooler, "reason": reason}) from None


def _logged_in(pooler: Pooler, host: str, port: int) -> socket.socket:
    connection = _connect(host, port)
    try:
        _authenticate(pooler, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(host: str, port: int) -> socket.socket:
    if not host.startswith("/"):
        return socket.create_connection((host, port), TIMEOUT_S)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(TIMEOUT_S)
    try:
        connection.connect(socket_path(host, port))
    except OSError:
        connection.close()
        raise
    return connection


def _authenticate(pooler: Pooler, connection: socket.socket) -> None:
    try:
        password = pooler.admin_password
    except SealBroken:
        raise PoolerUnreachable(
            _("the stored password of pooler %(pooler)s can't be decrypted: enter it again") % {"pooler": pooler}
        ) from None
    _send(connection, b"M")
    salt = _expect(pooler, connection, b"m")[:4]
    user = pooler.admin_user
    of_user = _md5(stored(password).encode() + user.encode())
    _send(connection, b"R", _words(user, _md5(of_user.encode() + salt)))
    try:
        answer = _expect(pooler, connection, b"r")
    except Rejected as error:
        raise PoolerUnreachable.at(pooler, _refusal(pooler, str(error))) from None
    if not answer.startswith(b"AuthenticationOK"):
        raise PoolerUnreachable.at(pooler, _refusal(pooler, _plain(answer)))


def _refusal(pooler: Pooler, words: str) -> str:
    remedy = _("its pcp.conf must have that login, which an apply writes there")
    return _("the PCP port of pooler %(pooler)s refused %(admin_user)s: %(words)s; %(remedy)s") % {
        "pooler": pooler,
        "admin_user": pooler.admin_user,
        "words": words,
        "remedy": remedy,
    }


def _send(connection: socket.socket, kind: bytes, text: bytes = b"") -> None:
    connection.sendall(kind + struct.pack("!I", len(text) + 4) + text)


def _expect(pooler: Pooler, connection: socket.socket, wanted: bytes) -> bytes:
    """Return the text of an answer of that kind; raises `Rejected` for an error of Pgpool-II."""
    while True:
        kind, text = _receive(connection)
        if kind == b"E":
            raise Rejected(_error_in(text))
        if kind == wanted:
            return text
        if kind not in NOTICES:
            reason = _("port %(pcp_port)s of pooler %(pooler)s does not speak PCP: is it its pcp_port?")
            raise PoolerUnreachable.at(pooler, reason % {"pcp_port": pooler.pcp_port, "pooler": pooler})


def _receive(connection: socket.socket) -> tuple[bytes, bytes]:
    head = _read(connection, 5)
    size = struct.unpack("!I", head[1:])[0] - 4
    if not 0 <= size <= LARGEST_BYTES:
        raise OSError(_("its answer is not PCP's"))
    return head[:1], _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise ConnectionResetError(_("it closed the connection"))
        found += part
    return found


def _error_in(text: bytes) -> str:
    """Return the message and the detail of an error: fields of a letter and a text, each ended by a NUL."""
    fields = {part[:1]: part[1:] for part in text.split(b"\0") if part}
    words = [_plain(fields[letter]) for letter in (b"M", b"D") if fields.get(letter)]
    return ": ".join(words) or _plain(text)


def _words(*words: str) -> bytes:
    return b"".join(word.encode() + b"\0" for word in words)


def _plain(text: bytes) -> str:
    return " ".join(text.replace(b"\0", b" ").decode(errors="replace").split())


def _md5(text: bytes) -> str:
    return hashlib.md5(text, usedforsecurity=False).hexdigest()  # the protocol's own choice
