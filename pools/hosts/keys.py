"""Keys of SSH: one pair per host, fingerprints as ssh-keygen shows them, and the line for authorized_keys."""

import base64
import hashlib
from collections.abc import Iterable, Iterator

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from pools.models import Host

USUAL_PORT = 6432
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
    tunnels lead to the consoles of its poolers on the loopback address, and to the hosts that are reached through it.
    """
    opened = ",".join(f'permitopen="{one}"' for one in _reached(host))
    return f"restrict,port-forwarding,{opened} {host.public_key} pooldeck-{host.key}"


def _reached(host: Host) -> Iterator[str]:
    ports = {port for pooler in host.found for port in pooler["ports"]}
    if not host._state.adding:
        ports |= {pooler.port for pooler in host.poolers.all()}
    ports = ports or {USUAL_PORT}
    yield from (f"{address}:{port}" for port in sorted(ports) for address in LOOPBACK)
    yield from _behind(host.led_to.all() if not host._state.adding else ())


def _behind(hosts: Iterable[Host]) -> Iterator[str]:
    for one in hosts:
        address = f"[{one.address}]" if ":" in one.address else one.address
        yield f"{address}:{one.port}"
