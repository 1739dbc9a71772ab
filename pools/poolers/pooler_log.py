"""The log of a pooler: its lines, and what its messages mean."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from django.utils.functional import Promise

from pools.errors import PoolsError
from pools.hosts.base import LogPosition
from pools.models import Pooler

LEVELS = ("NOISE", "DEBUG", "LOG", "INFO", "WARNING", "ERROR", "FATAL")


# messages about logins of the pooler itself, and of clients that wait for one
BY_SERVERS = frozenset({"server_login_failed", "server_login_retry", "wrong_password_type"})


class LogUnreadable(PoolsError):
    """The log of a pooler can't be read from here; the text says why, and where it is."""

    status = 502


class About(StrEnum):
    """What a message is about: whom one asks."""

    LOGIN = "login"
    LIMIT = "limit"
    SERVER = "server"
    CLIENT = "client"
    CONFIGURATION = "configuration"
    ROUTINE = "routine"


@dataclass(frozen=True)
class KnownMessage:
    """A message that the program is known to write; `reason` is its name in lists and in the API.

    `setting`: the one whose form mends it; with `adds`, by adding what the first group of the pattern has found.
    """

    reason: str
    pattern: "re.Pattern[str]"
    about: About
    meaning: str | Promise
    setting: str = ""
    adds: bool = False

    @property
    def refuses_login(self) -> bool:
        """True if it tells that a client, or the pooler as the server's client, was not let in."""
        return self.about == About.LOGIN or self.reason in BY_SERVERS


@dataclass(frozen=True)
class LogLine:
    """A line. `socket` tells the connection apart while it lasts; database, user and address are empty for none."""

    at: str
    pid: int
    level: str
    text: str
    database: str = ""
    user: str = ""
    address: str = ""
    socket: str = ""
    known: KnownMessage | None = None
    detail: str = ""  # what the message names, such as the startup parameter
    sqlstate: str = ""  # what the client, or PgBouncer as the server's client, got with it; empty where unknown


@dataclass(frozen=True)
class LogEnd:
    """The last lines of the logs of a pooler's processes, the newest last, and the files that they were read from."""

    lines: Sequence[LogLine]
    paths: Sequence[str]


@dataclass(frozen=True)
class LogNews:
    """The lines that the logs of a pooler's processes have gained, and where each log, by its path, was read to.

    `skipped`: bytes before the lines that were too many to be read.
    """

    lines: Sequence[LogLine]
    positions: Mapping[str, LogPosition]
    skipped: int = 0


class LoginLog(NamedTuple):
    """How refused logins are read from the logs of a kind of pooler.

    `paths` names its logs, by its main file, and raises `LogUnreadable` where refusals don't stand in them. `news`
    reads what these have gained since the positions by path, nothing of one without a position. Both raise
    `LogUnreadable` and `HostUnreachable`.
    """

    paths: Callable[[Pooler, str], list[str]]
    news: Callable[[Pooler, Sequence[str], Mapping[str, LogPosition]], LogNews]
