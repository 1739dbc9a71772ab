"""Finds in a load program's output that a server or pooler had no connection left, and counts refused clients; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks.models.options import RunOptions

# PostgreSQL's own words (src/backend/utils/init/postinit.c, storage/lmgr/proc.c), PgBouncer's and Pgpool-II's
_FATAL = re.compile(
    r"FATAL: +(?P<why>remaining connection slots are reserved[^\n\"]*|sorry, too many clients already[^\n\"]*"
    r"|too many connections for (?:role|database)[^\n]*|no more connections allowed[^\n]*)",
    re.IGNORECASE,
)
# From 14 on, pgbench ends at the first client that gets no connection; before 14 and under -C only that client ends
_FIRST = re.compile(r"could not create connection for client (\d+)")
_ABORTED = re.compile(r"client (\d+) aborted while establishing connection")
_BY_DEFAULT = {"max_connections": 100, "superuser_reserved_connections": 3, "reserved_connections": 0}


@dataclass(frozen=True)
class Refusal:
    """The message with which clients were refused; `refused` is None where they can't be counted."""

    why: str
    asked: int | None
    refused: int | None

    def sentence(self, *, pooled: bool) -> str:
        """Return it in words: `the server refused 53 of 150 clients: remaining connection slots are reserved …`."""
        numbers = {"refused": f"{self.refused or 0:,}", "asked": f"{self.asked or 0:,}", "why": self.why}
        return (self._pool_format() if pooled else self._server_format()) % numbers

    def _pool_format(self) -> str:
        if self.refused and self.asked:
            return _("the pool refused %(refused)s of %(asked)s clients: %(why)s")
        if self.refused:
            return _("the pool refused %(refused)s clients: %(why)s")
        if self.asked:
            return _("the pool refused some of %(asked)s clients: %(why)s")
        return _("the pool refused some clients: %(why)s")

    def _server_format(self) -> str:
        if self.refused and self.asked:
            return _("the server refused %(refused)s of %(asked)s clients: %(why)s")
        if self.refused:
            return _("the server refused %(refused)s clients: %(why)s")
        if self.asked:
            return _("the server refused some of %(asked)s clients: %(why)s")
        return _("the server refused some clients: %(why)s")


def find(text: str, options: RunOptions, settings: Mapping[str, Mapping[str, object]]) -> Refusal | None:
    """Return the refusal in a load program's output, or None; `settings` are the server's as stored with the run.

    pgbench 14 and later names only the first refused client. With one thread, all clients before it were let in. With
    more threads, the count is what exceeds the server's free logins: a lower bound.
    """
    found = _FATAL.search(text)
    if found is None:
        return None
    why, clients = found["why"].strip(), options.get("clients") or None
    return Refusal(why, clients, _counted(text, why, clients, options, settings))


def _counted(
    text: str, why: str, asked: int | None, options: RunOptions, settings: Mapping[str, Mapping[str, object]]
) -> int | None:
    if aborted := set(_ABORTED.findall(text)):
        return len(aborted)
    first = _FIRST.search(text)
    if asked and first and (options.get("threads") or 1) == 1:
        return asked - int(first[1])
    room = _room(why, settings)
    return asked - room if asked and room is not None and asked > room else None


def _room(why: str, settings: Mapping[str, Mapping[str, object]]) -> int | None:
    """Return the server's logins for the clients that got this message; None where another limit was reached."""
    if not settings or not why.lower().startswith(("remaining", "sorry")):
        return None
    most, superusers, others = (_number(settings, name) for name in _BY_DEFAULT)
    return most - superusers - others if why.lower().startswith("remaining") else most


def _number(settings: Mapping[str, Mapping[str, object]], name: str) -> int:
    """Return a setting's value; a run stores only those that differ from PostgreSQL's defaults."""
    value = str(settings.get(name, {}).get("value", ""))
    return int(value) if value.isdecimal() else _BY_DEFAULT[name]
