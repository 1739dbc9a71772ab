"""Reads the end of a pooler's log, counts what it tells, and filters its lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from pools.models import Pooler
from pools.poolers import KINDS
from pools.poolers.pooler_log import About, KnownMessage, LogEnd, LogLine, LogUnreadable

SAME_MOMENT_CHARACTERS = 19  # of the time of a line: to the second
LATELY_S = 120.0  # before the last line of a log
SERVER_LOGIN_FAILED = "server_login_failed"


@dataclass(frozen=True)
class Filters:
    """What the lines have to have; empty for all. Words are looked for in any case.

    `refused`: only what tells of a refused login.
    """

    level: str = ""
    words: str = ""
    database: str = ""
    user: str = ""
    reason: str = ""
    refused: bool = False

    def let_through(self, line: LogLine) -> bool:
        """Tell whether a line has all of it."""
        return (
            self.level in ("", line.level)
            and self.words.lower() in line.text.lower()
            and self.database in ("", line.database)
            and self.user in ("", line.user)
            and self.reason in ("", line.known.reason if line.known else "")
            and not (self.refused and not (line.known and line.known.refuses_login))
        )


@dataclass(frozen=True)
class Reason:
    """How often a known message stands in the log, and when it did last; `detail` is what it names."""

    known: KnownMessage
    detail: str
    count: int
    last_at: str


@dataclass(frozen=True)
class SqlState:
    """How often a SQLSTATE was reported."""

    code: str
    count: int


def read(pooler: Pooler) -> LogEnd:
    """Read the end of a pooler's log. Raises `LogUnreadable`, `HostUnreachable`."""
    driver = KINDS[pooler.kind]
    if driver.read_log is None:
        raise LogUnreadable(_("the panel reads no log of %(kind)s") % {"kind": pooler.get_kind_display()})
    return driver.read_log(pooler, driver.main_path(pooler))


def of_lines(lines: Sequence[LogLine]) -> list[Reason]:
    """Return the known messages, the most frequent first; routine ones come last."""
    counts: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], LogLine] = {}
    for line in once(lines):
        if line.known:
            key = (line.known.reason, line.detail)
            counts[key] += 1
            last[key] = line
    found = [
        Reason(line.known, detail, counts[reason, detail], line.at)
        for (reason, detail), line in last.items()
        if line.known
    ]
    return sorted(found, key=lambda one: (one.known.about == About.ROUTINE, -one.count, one.known.reason, one.detail))


def by_sqlstate(lines: Iterable[LogLine]) -> list[SqlState]:
    """Return how often each SQLSTATE was reported, the most frequent first."""
    counts = Counter(line.sqlstate for line in lines if line.sqlstate)
    return [SqlState(code, count) for code, count in counts.most_common()]


def last_server_refusal(lines: Sequence[LogLine], database: str) -> LogLine | None:
    """Return the line with what a server said as it lately refused a login for a database; None for none.

    That line names no connection. The next ones of the same moment do, since the connection and the clients that
    waited for it end with the same words, or as a login that failed.
    """
    message: LogLine | None = None
    found: LogLine | None = None
    for line in lines:
        is_refusal = line.known is not None and line.known.reason == SERVER_LOGIN_FAILED
        if is_refusal and not line.socket:
            message = line
        elif message and line.database == database and _moment(line) == _moment(message):
            found = message if is_refusal or message.detail in line.text else found
    return found if found and _is_late(found, lines[-1]) else None


def _moment(line: LogLine) -> tuple[int, str]:
    return line.pid, line.at[:SAME_MOMENT_CHARACTERS]


def _is_late(line: LogLine, last: LogLine) -> bool:
    at, end = (datetime.fromisoformat(one.at[:SAME_MOMENT_CHARACTERS]) for one in (line, last))
    return (end - at).total_seconds() <= LATELY_S


def once(lines: Sequence[LogLine]) -> Iterator[LogLine]:
    """Yield the lines, one for what PgBouncer tells twice: as an error, and as why it closes the connection.

    A login that the server refused is told without its connection first.
    """
    reported: set[tuple[int, str, str, str, str]] = set()
    for line in lines:
        reason = line.known.reason if line.known else ""
        key = (line.pid, line.socket, line.address, reason, line.at[:SAME_MOMENT_CHARACTERS])
        if line.socket and reason and (key in reported or _is_refused_server(line, reason)):
            continue
        reported.add(key)
        yield line


def _is_refused_server(line: LogLine, reason: str) -> bool:
    return line.socket.startswith("S") and reason == SERVER_LOGIN_FAILED
