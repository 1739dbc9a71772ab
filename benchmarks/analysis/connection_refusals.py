"""Whether a server or pooler refused clients of a load for want of connections, and how many of them; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# PostgreSQL's own words (src/backend/utils/init/postinit.c, storage/lmgr/proc.c), PgBouncer's and Pgpool-II's
_FATAL = re.compile(
    r"FATAL: +(?P<why>remaining connection slots are reserved[^\n]*|sorry, too many clients already[^\n]*"
    r"|too many connections for (?:role|database)[^\n]*|no more connections allowed[^\n]*)",
    re.IGNORECASE,
)
# pgbench from 14 on ends at the first client that gets no connection, before 14 and under -C that client alone does
_FIRST = re.compile(r"could not create connection for client (\d+)")
_ABORTED = re.compile(r"client (\d+) aborted while establishing connection")
_BY_DEFAULT = {"max_connections": 100, "superuser_reserved_connections": 3, "reserved_connections": 0}


@dataclass(frozen=True)
class Refusal:
    """What a server said to clients that it did not let in; `refused` is None where it can't be counted."""

    why: str
    asked: int | None
    refused: int | None

    def sentence(self, who: str) -> str:
        """In words: `the server refused 53 of 150 clients: remaining connection slots are reserved …`."""
        of_all = f" of {self.asked:,}" if self.asked else ""
        many = f"{self.refused:,}{of_all} clients" if self.refused else f"some{of_all} clients"
        return f"{who} refused {many}: {self.why}"


def find(text: str, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> Refusal | None:
    """The refusal in what a load program printed, or None; `settings` are the server's as the run kept them.

    pgbench 14 and later names the first refused client only: with one thread all before it were let in. With more it is
    what is above the logins that the server has, so at least that many.
    """
    found = _FATAL.search(text)
    if found is None:
        return None
    why, asked = found["why"].strip(), options.get("clients") or None
    return Refusal(why, asked, _counted(text, why, asked, options, settings))


def _counted(
    text: str, why: str, asked: int | None, options: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]
) -> int | None:
    if aborted := set(_ABORTED.findall(text)):
        return len(aborted)
    first = _FIRST.search(text)
    if asked and first and (options.get("threads") or 1) == 1:
        return asked - int(first[1])
    room = _room(why, settings)
    return asked - room if asked and room is not None and asked > room else None


def _room(why: str, settings: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The logins that the server has for those who got these words; None where another limit is meant."""
    if not settings or not why.lower().startswith(("remaining", "sorry")):
        return None
    most, superusers, others = (_number(settings, name) for name in _BY_DEFAULT)
    return most - superusers - others if why.lower().startswith("remaining") else most


def _number(settings: Mapping[str, Mapping[str, Any]], name: str) -> int:
    """A run keeps what differs from PostgreSQL's own defaults."""
    value = str(settings.get(name, {}).get("value", ""))
    return int(value) if value.isdecimal() else _BY_DEFAULT[name]
