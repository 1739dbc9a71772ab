"""The settings of HAProxy that the panel offers, in the terms of its configuration manual."""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.lib import addresses
from pools.models import identifiers
from pools.poolers.settings_schema import Scope, Setting, Type, Version, help_with_default

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

OLDEST: Version = (2, 2)
SERVERS, CONNECTIONS = gettext_lazy("Servers"), gettext_lazy("Connections")
CHECKS, TIMEOUTS = gettext_lazy("Health checks"), gettext_lazy("Timeouts")
USUAL_MAXCONN = 100
ADDRESS = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<host>[^\s,\[\]:]+)):(?P<port>[0-9]{1,5})")


def addresses_in(text: str) -> list[tuple[str, int]]:
    """Parse `servers` into hosts and ports. Raises `ValueError` with the first entry that is not an address."""
    found = []
    for server in filter(None, (part.strip() for part in text.split(","))):
        match = ADDRESS.fullmatch(server)
        if not match or not 1 <= int(match["port"]) <= 65_535:
            raise ValueError(server)
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
    help: "StrOrPromise",
    *,
    manual: str,
    **more: Any,
) -> Setting:
    """Build a record; `manual` is the section and keyword of the manual, such as `4.2-balance`."""
    stated = help_with_default(help, type, default)
    return Setting(name, Scope.PROGRAM, type, default, stated, group, since=OLDEST, manual=f"#{quote(manual)}", **more)


def _timeout(side: str, default: str, help: "StrOrPromise") -> Setting:
    keyword = f"timeout {side}"
    return _setting(
        TIMEOUTS,
        f"timeout_{side}",
        Type.NUMBER,
        default,
        help,
        keyword=keyword,
        manual=f"4.2-{keyword}",
        minimum=1,
        maximum=2_000_000,  # HAProxy's timers hold 24 days
        unit="s",
    )


CATALOG: tuple[Setting, ...] = (
    _setting(
        SERVERS,
        "servers",
        Type.TEXT,
        "",
        gettext_lazy(
            "HAProxy spreads sessions over these PgBouncers, each as host:port, separated by commas; an empty field "
            "means the servers of the pools' cluster."
        ),
        keyword="server",
        manual="4.2-server",
        check=_servers_fault,
    ),
    _setting(
        SERVERS,
        "balance",
        Type.CHOICE,
        "leastconn",
        gettext_lazy(
            "HAProxy chooses the server of a new session by this algorithm (default {default}): leastconn takes the "
            "one with the fewest, as the manual recommends for long sessions, roundrobin takes each in turn, source "
            "keeps to one for a client address, and first fills one after another."
        ),
        manual="4.2-balance",
        choices=("leastconn", "roundrobin", "source", "first"),
    ),
    _setting(
        CONNECTIONS,
        "maxconn",
        Type.NUMBER,
        str(USUAL_MAXCONN),
        gettext_lazy(
            "HAProxy accepts at most this many sessions (default {default}), and leaves further clients in the "
            "kernel's queue; every pool of this HAProxy has this size."
        ),
        manual="4.2-maxconn",
        minimum=1,
        maximum=100_000,
    ),
    _setting(
        CONNECTIONS,
        "bind",
        Type.TEXT,
        "",
        gettext_lazy(
            "HAProxy listens on this address of its host, or on all with *; an empty field means the pooler's host."
        ),
        manual="4.2-bind",
        pattern=r"\*|[0-9A-Za-z_.:-]+",
    ),
    _setting(
        CHECKS,
        "check",
        Type.CHOICE,
        "pgsql-check",
        gettext_lazy(
            "HAProxy checks servers by this method (default {default}): pgsql-check starts a PostgreSQL session as the "
            "console user and expects to be asked for a password, and tcp-check only connects."
        ),
        manual="4.2-option pgsql-check",
        choices=("pgsql-check", "tcp-check"),
    ),
    _setting(
        CHECKS,
        "inter",
        Type.NUMBER,
        "2",
        gettext_lazy("HAProxy waits this many seconds between two checks of a server (default {default})."),
        manual="5.2-inter",
        minimum=1,
        maximum=3600,
        unit="s",
    ),
    _setting(
        CHECKS,
        "fall",
        Type.NUMBER,
        "3",
        gettext_lazy("HAProxy takes a server for down after this many failed checks in a row (default {default})."),
        manual="5.2-fall",
        minimum=1,
        maximum=100,
    ),
    _setting(
        CHECKS,
        "rise",
        Type.NUMBER,
        "2",
        gettext_lazy("HAProxy takes a server for up again after this many good checks in a row (default {default})."),
        manual="5.2-rise",
        minimum=1,
        maximum=100,
    ),
    _setting(
        CHECKS,
        "shutdown_sessions",
        Type.BOOLEAN,
        "1",
        gettext_lazy(
            "HAProxy ends the sessions of a server that is down (default {default}), so that clients get an error at "
            "once and reconnect, instead of waiting for TCP."
        ),
        keyword="on-marked-down shutdown-sessions",
        manual="5.2-on-marked-down",
    ),
    _timeout(
        "connect",
        "5",
        gettext_lazy("HAProxy gives up a connection to a server after this many seconds (default {default})."),
    ),
    _timeout(
        "client",
        "86400",
        gettext_lazy("HAProxy ends a session whose client is silent for this many seconds (default {default})."),
    ),
    _timeout(
        "server",
        "86400",
        gettext_lazy("HAProxy ends a session whose server is silent for this many seconds (default {default})."),
    ),
)
DEFAULTS = {one.name: one.default for one in CATALOG}
