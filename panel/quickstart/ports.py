"""TCP ports for the private servers."""

import random
import socket
import time
from collections import deque

LOOPBACK = "127.0.0.1"
# These lie below Linux's range of ephemeral ports (ip_local_port_range), so that a remembered port stays free.
LOWEST, HIGHEST = 15000, 32000
FREE_WITHIN_S = 5
BACKLOG = 2048  # uvicorn's own
_returned: deque[int] = deque(maxlen=64)  # their servers may not listen yet


class NoFreePort(Exception):
    """All ports of the range are taken."""


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Tell whether a server could listen on the port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def listen(port: int, host: str = LOOPBACK) -> socket.socket:
    """Open a listener with TCP_NODELAY; raises OSError where the port is taken or forbidden."""
    listener = socket.create_server((host, port), backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def free_port() -> int:
    """Return a random free port, which is none of those returned just before."""
    for _ in range(200):
        port = random.randrange(LOWEST, HIGHEST)  # noqa: S311 (no secret)
        if port not in _returned and is_free(port):
            _returned.append(port)
            return port
    raise NoFreePort(f"no free port between {LOWEST} and {HIGHEST} after 200 tries")


def same_or_free_port(port: int | None) -> int:
    """Return the port if it is free within `FREE_WITHIN_S` (an earlier start may still be ending), else another."""
    deadline = time.monotonic() + FREE_WITHIN_S
    while port and time.monotonic() < deadline:
        if is_free(port):
            return port
        time.sleep(0.1)
    return free_port()
