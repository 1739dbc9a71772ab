"""What the panel sets of an HAProxy, in the words of its configuration manual."""

import re
from typing import Any

from panel.lib import addresses
from pools.models import identifiers
from pools.poolers.settings_schema import Scope, Setting, Type, Version

OLDEST: Version = (2, 2)
SERVERS, CONNECTIONS, CHECKS, TIMEOUTS = "Servers", "Connections", "Health checks", "Timeouts"
USUAL_MAXCONN = 100
ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\s,\[\]:]+)):(?P<port>[0-9]{1,5})")


def addresses_in(text: str) -> list[tuple[str, int]]:
    """Host and port of each entry of `servers`. Raises `ValueError` naming one that is none."""
    found = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = ADDRESS.fullmatch(entry)
        if not match or not 1 <= int(match["port"]) <= 65_535:
            raise ValueError(entry)
        found.append((match["v6"] or match["host"], int(match["port"])))
    return found


def _servers_fault(text: str, _: Version) -> str:
    try:
        listed = addresses_in(text)
    except ValueError as error:
        return f"{str(error)!r} is no address: write host:port, or [address]:port for IPv6, separated by commas"
    if len(set(listed)) < len(listed):
        return "an address stands in it twice: leave one out"
    faults = (identifiers.host_problem(host) or addresses.refusal(host, port) for host, port in listed)
    return next(filter(None, faults), "")


def _setting(group: str, name: str, type: Type, default: str, label: str, help: str, **more: Any) -> Setting:
    return Setting(name, Scope.PROGRAM, type, default, help, group, label=label, since=OLDEST, **more)


def _seconds(name: str, default: str, label: str, help: str) -> Setting:
    return _setting(
        TIMEOUTS, name, Type.NUMBER, default, label, help, minimum=1, maximum=2_000_000, unit="s"
    )  # HAProxy's timers hold 24 days


CATALOGUE: tuple[Setting, ...] = (
    _setting(
        SERVERS,
        "servers",
        Type.TEXT,
        "",
        "PgBouncers behind it",
        "host:port of each PgBouncer to spread sessions over, separated by commas; without it, sessions go to the "
        "servers of the pools' cluster",
        check=_servers_fault,
    ),
    _setting(
        SERVERS,
        "balance",
        Type.CHOICE,
        "leastconn",
        "Balance",
        "Which server gets the next session: leastconn the one with the fewest, as the manual advises for long "
        "sessions; roundrobin each in turn; source the same for the same client address; first fills one after another",
        choices=("leastconn", "roundrobin", "source", "first"),
    ),
    _setting(
        CONNECTIONS,
        "maxconn",
        Type.NUMBER,
        str(USUAL_MAXCONN),
        "Most connections",
        "Sessions at once; more clients wait in the kernel's queue. Every pool of this HAProxy has this size",
        minimum=1,
        maximum=100_000,
    ),
    _setting(
        CONNECTIONS,
        "bind",
        Type.TEXT,
        "",
        "Bind address",
        "Where it takes clients: an address of its host, or * for all; without it, the pooler's host",
        pattern=r"\*|[0-9A-Za-z_.:-]+",
    ),
    _setting(
        CHECKS,
        "check",
        Type.CHOICE,
        "pgsql-check",
        "Health check",
        "pgsql-check opens a PostgreSQL session as the console user and expects to be asked for a password; "
        "tcp-check only connects",
        choices=("pgsql-check", "tcp-check"),
    ),
    _setting(
        CHECKS, "inter", Type.NUMBER, "2", "Check interval", "Between two checks", minimum=1, maximum=3600, unit="s"
    ),
    _setting(CHECKS, "fall", Type.NUMBER, "3", "Fall", "Failed checks until a server is down", minimum=1, maximum=100),
    _setting(CHECKS, "rise", Type.NUMBER, "2", "Rise", "Good checks until it is up again", minimum=1, maximum=100),
    _setting(
        CHECKS,
        "shutdown_sessions",
        Type.BOOLEAN,
        "1",
        "End sessions of a server that is down",
        "on-marked-down shutdown-sessions: clients see an error at once and reconnect, instead of waiting for TCP",
    ),
    _seconds("timeout_connect", "5", "Connect timeout", "For a connection to a server"),
    _seconds("timeout_client", "86400", "Client timeout", "A client that is silent for so long is disconnected"),
    _seconds("timeout_server", "86400", "Server timeout", "A server that is silent for so long is disconnected"),
)
DEFAULTS = {one.name: one.default for one in CATALOGUE}
