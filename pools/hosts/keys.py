"""Keys of SSH: one pair per host, fingerprints as ssh-keygen shows them, and the line for authorized_keys."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from pools.models import Host, Pooler

USUAL_PORT = 6432
PLAIN_PATH = re.compile(r"/[\w./@+-]+", re.ASCII)
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def new_pair() -> tuple[str, str]:
    """Make an ed25519 key; return its private and its public half as OpenSSH writes them."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return private.decode(), key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def fingerprint(key: str) -> str:
    """Return `SHA256:…` of a public key, as `ssh-keygen -lf` shows it; empty for none."""
    if not key:
        return ""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def type_of(key: str) -> str:
    """Return `ssh-ed25519`, or the other type of a public key; empty for none."""
    return key.partition(" ")[0]


def authorized_keys_line(host: Host) -> str:
    """Return the line that lets the panel in, with the restrictions under which its work is still possible.

    `restrict` forbids terminals, forwarding of agents and X11, and the user's rc file (sshd's manual, AUTHORIZED_KEYS);
    tunnels lead to the consoles of its poolers on the loopback address and on their sockets, and to the hosts that are
    reached through it. sshd compares the path of a socket with the host of a `permitopen` of any port (channels.c,
    channel_connect_to_path); in brackets, it may have slashes.
    """
    opened = ",".join(f'permitopen="{one}"' for one in _reached(host))
    return f"restrict,port-forwarding,{opened} {host.public_key} pooldeck-{host.key}"


def _reached(host: Host) -> Iterator[str]:
    poolers = [] if host._state.adding else list(host.poolers.all())
    ports = {port for pooler in host.found for port in pooler["ports"]}
    ports |= {port for pooler in poolers for port in (pooler.port, pooler.pcp_port) if port}
    yield from (f"{address}:{port}" for port in sorted(ports or {USUAL_PORT}) for address in LOOPBACK)
    sockets = {path for pooler in host.found for path in _found_sockets(pooler)}
    sockets |= {path for pooler in poolers for path in _own_sockets(pooler)}
    yield from (f"[{path}]:*" for path in sorted(sockets) if PLAIN_PATH.fullmatch(path))
    yield from _behind(host.led_to.all() if not host._state.adding else ())


def _found_sockets(found: Mapping[str, Any]) -> Iterator[str]:
    yield from (socket_path(folder, port) for folder in found.get("socket_folders", []) for port in found["ports"])
    yield from found.get("control_sockets", [])


def _own_sockets(pooler: Pooler) -> Iterator[str]:
    """Yield the sockets by which a registered pooler and its processes are asked."""
    folders = [pooler.host, *(str(process["socket"]) for process in pooler.processes)]
    ports = [port for port in (pooler.port, pooler.pcp_port) if port]
    yield from (socket_path(folder, port) for folder in folders if folder.startswith("/") for port in ports)
    yield pooler.stats_address  # The caller leaves out values that are not paths.


def socket_path(folder: str, port: int) -> str:
    """Return the path of a Unix socket by libpq's host and port."""
    return f"{folder}/.s.PGSQL.{port}"


def _behind(hosts: Iterable[Host]) -> Iterator[str]:
    for one in hosts:
        address = f"[{one.address}]" if ":" in one.address else one.address
        yield f"{address}:{one.port}"
