"""Renders the panel's part of haproxy.cfg: one frontend, one backend, and their sources in comments."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from uuid import UUID

from pools.models import Pool
from pools.poolers.haproxy.settings_catalog import DEFAULTS
from pools.poolers.haproxy.stats_socket import DIGEST, MAIN
from pools.poolers.shown_secrets import MASK

MARK = "# ---- Pooldeck replaces what follows with each apply; what stands above is kept:\n"
PROXY = "pooldeck"
POOL = re.compile(r"^# pool (\S+) (\{.*\})$", re.MULTILINE)
SETTINGS = re.compile(r"^# settings (\{.*\})$", re.MULTILINE)
THROUGH = re.compile(r"^# through (\S+) (\S+)$", re.MULTILINE)
DIGESTED = re.compile(rf"^    setenv {DIGEST} (\S+)\n", re.MULTILINE)
SECRETS = re.compile(r"^([ \t]*(?:stats[ \t]+auth[ \t]+[^\s:]+:|.*?\b(?:insecure-)?password[ \t]+))\S+", re.MULTILINE)
Address = tuple[str, int]


@dataclass(frozen=True)
class Entry:
    """A pool as the file records it: the name and user that clients use, and the servers that it leads to."""

    name: str
    database: str
    user: str
    cluster: str
    target: str

    @classmethod
    def of_pool(cls, pool: Pool) -> "Entry":
        """Build an entry from a pool's record."""
        return cls(pool.name, pool.database, pool.user, str(pool.cluster_id), pool.target)


def kept(text: str) -> str:
    """Return the operator's part: all of it before the first apply."""
    return text.partition(MARK)[0]


def ours(text: str) -> str:
    """Return the panel's part."""
    return text.partition(MARK)[2]


def file(above: str, body: str) -> str:
    """Join the operator's part, the mark, and the panel's part with the digest that identifies the live file."""
    if above and not above.endswith("\n"):
        above += "\n"
    return f"{above}{MARK}global\n    setenv {DIGEST} {sha256(body.encode()).hexdigest()[:32]}\n{body}"


def digest_in(text: str) -> str:
    """Return the digest that a worker reports after reading this text; empty without a panel's part."""
    found = DIGESTED.search(ours(text))
    return found[1] if found else ""


def entries(text: str) -> dict[UUID, Entry]:
    """Return the pools of a file by their ids."""
    return {UUID(pk): Entry(**json.loads(given)) for pk, given in POOL.findall(ours(text))}


def settings_in(text: str) -> dict[str, str]:
    """Return the settings that a file was rendered from."""
    found = SETTINGS.search(ours(text))
    return json.loads(found[1]) if found else {}


def servers_in(text: str) -> dict[str, str]:
    """Return name → address of each server line."""
    return dict(re.findall(r"^    server (\S+) (\S+)", ours(text), re.MULTILINE))


def proxies_in(text: str) -> tuple[str, str]:
    """Return the names of the frontend and the backend of the pools: the panel's own, or the operator's."""
    found = THROUGH.search(ours(text))
    return (found[1], found[2]) if found else (PROXY, PROXY)


def has_own_proxy(text: str) -> bool:
    """Return whether the panel's part has a frontend."""
    return "frontend " in ours(text)


def body_through(front: str, back: str, settings: Mapping[str, str], entries_by_id: Mapping[UUID, Entry]) -> str:
    """Render the part after the digest where a proxy of the operator's has the port: the sources of pools alone."""
    return "\n".join([*_sources(settings, entries_by_id), f"# through {front} {back}"]) + "\n"


def body_of_none() -> str:
    """Render the part after the digest of a pooler without pools."""
    return "\n".join(_sources({}, {})) + "\n"


def _sources(settings: Mapping[str, str], entries_by_id: Mapping[UUID, Entry]) -> list[str]:
    remembered = [f"# pool {pk} {json.dumps(asdict(entry))}" for pk, entry in sorted(entries_by_id.items(), key=str)]
    return [f"# settings {json.dumps(dict(settings), sort_keys=True)}", *remembered]


def body(
    address: Address,
    user: str,
    settings: Mapping[str, str],
    entries_by_id: Mapping[UUID, Entry],
    servers: Iterable[Address],
) -> str:
    """Render the part after the digest; `address` is where clients connect, `user` logs in for health checks."""
    value = DEFAULTS | dict(settings)
    bind = written((value["bind"] or address[0], address[1]))
    check = f"option pgsql-check user {user}" if value["check"] == "pgsql-check" else "option tcp-check"
    shutdown = " on-marked-down shutdown-sessions" if value["shutdown_sessions"] in ("1", "True") else ""
    lines = [
        *_sources(settings, entries_by_id),
        "",
        f"frontend {PROXY}",
        "    mode tcp",
        f"    bind {bind}",
        f"    maxconn {value['maxconn']}",
        "    option clitcpka",
        f"    timeout client {value['timeout_client']}s",
        f"    default_backend {PROXY}",
        "",
        f"backend {PROXY}",
        "    mode tcp",
        f"    balance {value['balance']}",
        f"    {check}",
        "    option srvtcpka",
        "    option redispatch",
        f"    timeout connect {value['timeout_connect']}s",
        f"    timeout server {value['timeout_server']}s",
        f"    default-server check inter {value['inter']}s fall {value['fall']} rise {value['rise']}{shutdown}",
        *(f"    server {server_name(server)} {written(server)}" for server in servers),
    ]
    return "\n".join(lines) + "\n"


def server_name(server: Address) -> str:
    """Return host and port with only the characters that HAProxy accepts in names."""
    return re.sub(r"[^\w.:-]", "_", f"{server[0]}:{server[1]}", flags=re.ASCII)


def written(address: Address) -> str:
    """Format an address for `bind` and `server`."""
    host, port = address
    if host.startswith("/"):
        return f"unix@{host}/.s.PGSQL.{port}"
    return f"ipv6@{host}:{port}" if ":" in host else f"{host}:{port}"


def masked(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files with dots for the passwords of the operator's part; the panel's part has none."""
    return {name: SECRETS.sub(rf"\g<1>{MASK}", text) if name == MAIN else text for name, text in texts.items()}


def masked_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Return files of any names with dots for their passwords."""
    return {path: masked({MAIN: text})[MAIN] for path, text in texts.items()}
