"""TCP ports for the private servers."""

import random
import socket
import time

LOOPBACK = "127.0.0.1"
# Below the range that Linux takes outgoing connections from (ip_local_port_range), so that a kept port stays free.
LOWEST, HIGHEST = 15000, 32000
FREE_WITHIN_S = 5
BACKLOG = 2048  # uvicorn's own


class NoFreePort(Exception):
    """No port could be bound."""


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def listen(port: int, host: str = LOOPBACK) -> socket.socket:
    """A listener there, whose connections send at once what they are given; raises OSError where it can't be."""
    listener = socket.create_server((host, port), backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def free_port() -> int:
    """A port that nobody listens on."""
    for _ in range(200):
        if is_free(port := random.randrange(LOWEST, HIGHEST)):  # noqa: S311 (no secret)
            return port
    raise NoFreePort(f"no free port between {LOWEST} and {HIGHEST} after 200 tries")


def kept_or_free(port: int | None) -> int:
    """The port if it is, or soon becomes, free (an ended start may still be letting go of it), else another one."""
    deadline = time.monotonic() + FREE_WITHIN_S
    while port and time.monotonic() < deadline:
        if is_free(port):
            return port
        time.sleep(0.1)
    return free_port()
