"""The settings of HAProxy that the panel offers, in the terms of its configuration manual."""

import re
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from panel.lib import addresses
from pools.models import identifiers
from pools.poolers.settings_schema import Scope, Setting, Type, Version

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

OLDEST: Version = (2, 2)
SERVERS, CONNECTIONS = gettext_lazy("Servers"), gettext_lazy("Connections")
CHECKS, TIMEOUTS = gettext_lazy("Health checks"), gettext_lazy("Timeouts")
USUAL_MAXCONN = 100
ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\s,\[\]:]+)):(?P<port>[0-9]{1,5})")


def addresses_in(text: str) -> list[tuple[str, int]]:
    """Parse `servers` into hosts and ports. Raises `ValueError` naming an entry that is no address."""
    found = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        match = ADDRESS.fullmatch(entry)
        if not match or not 1 <= int(match["port"]) <= 65_535:
            raise ValueError(entry)
        found.append((match["v6"] or match["host"], int(match["port"])))
    return found


def _servers_fault(text: str, _version: Version) -> str:
    try:
        listed = addresses_in(text)
    except ValueError as error:
        return _("%(entry)r is not an address: write host:port, or [address]:port for IPv6, separated by commas") % {
            "entry": str(error)
        }
    if len(set(listed)) < len(listed):
        return _("it contains an address twice: leave one out")
    faults = (identifiers.host_problem(host) or addresses.refusal(host, port) for host, port in listed)
    return next(filter(None, faults), "")


def _setting(
    group: "StrOrPromise",
    name: str,
    type: Type,
    default: str,
    label: "StrOrPromise",
    help: "StrOrPromise",
    **more: Any,
) -> Setting:
    return Setting(name, Scope.PROGRAM, type, default, help, group, label=label, since=OLDEST, **more)


def _seconds(name: str, default: str, label: "StrOrPromise", help: "StrOrPromise") -> Setting:
    return _setting(
        TIMEOUTS, name, Type.NUMBER, default, label, help, minimum=1, maximum=2_000_000, unit="s"
    )  # HAProxy's timers hold 24 days


CATALOG: tuple[Setting, ...] = (
    _setting(
        SERVERS,
        "servers",
        Type.TEXT,
        "",
        gettext_lazy("PgBouncers behind it"),
        gettext_lazy(
            "host:port of each PgBouncer to spread sessions over, separated by commas; without it, sessions go "
            "to the servers of the pools' cluster"
        ),
        check=_servers_fault,
    ),
    _setting(
        SERVERS,
        "balance",
        Type.CHOICE,
        "leastconn",
        gettext_lazy("Balance"),
        gettext_lazy(
            "Which server gets the next session: leastconn the one with the fewest, as the manual advises for "
            "long sessions; roundrobin each in turn; source the same for the same client address; first fills "
            "one after another"
        ),
        choices=("leastconn", "roundrobin", "source", "first"),
    ),
    _setting(
        CONNECTIONS,
        "maxconn",
        Type.NUMBER,
        str(USUAL_MAXCONN),
        gettext_lazy("Most connections"),
        gettext_lazy(
            "Sessions at once; more clients wait in the kernel's queue. Every pool of this HAProxy has this size"
        ),
        minimum=1,
        maximum=100_000,
    ),
    _setting(
        CONNECTIONS,
        "bind",
        Type.TEXT,
        "",
        gettext_lazy("Bind address"),
        gettext_lazy("Where it listens: an address of its host, or * for all; without it, the pooler's host"),
        pattern=r"\*|[0-9A-Za-z_.:-]+",
    ),
    _setting(
        CHECKS,
        "check",
        Type.CHOICE,
        "pgsql-check",
        gettext_lazy("Health check"),
        gettext_lazy(
            "pgsql-check opens a PostgreSQL session as the console user and expects to be asked for a password; "
            "tcp-check only connects"
        ),
        choices=("pgsql-check", "tcp-check"),
    ),
    _setting(
        CHECKS,
        "inter",
        Type.NUMBER,
        "2",
        gettext_lazy("Check interval"),
        gettext_lazy("Between two checks"),
        minimum=1,
        maximum=3600,
        unit="s",
    ),
    _setting(
        CHECKS,
        "fall",
        Type.NUMBER,
        "3",
        gettext_lazy("Fall"),
        gettext_lazy("Failed checks until a server is down"),
        minimum=1,
        maximum=100,
    ),
    _setting(
        CHECKS,
        "rise",
        Type.NUMBER,
        "2",
        gettext_lazy("Rise"),
        gettext_lazy("Successful checks until it is up again"),
        minimum=1,
        maximum=100,
    ),
    _setting(
        CHECKS,
        "shutdown_sessions",
        Type.BOOLEAN,
        "1",
        gettext_lazy("End sessions of a server that is down"),
        gettext_lazy(
            "on-marked-down shutdown-sessions: clients see an error at once and reconnect, instead of waiting for TCP"
        ),
    ),
    _seconds("timeout_connect", "5", gettext_lazy("Connect timeout"), gettext_lazy("For a connection to a server")),
    _seconds(
        "timeout_client",
        "86400",
        gettext_lazy("Client timeout"),
        gettext_lazy("A client that is silent for so long is disconnected"),
    ),
    _seconds(
        "timeout_server",
        "86400",
        gettext_lazy("Server timeout"),
        gettext_lazy("A server that is silent for so long is disconnected"),
    ),
)
DEFAULTS = {one.name: one.default for one in CATALOG}
