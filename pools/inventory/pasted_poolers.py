"""Registers many poolers at once from a pasted list, to be watched: one line each, with one login for all."""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from django.db.models import Model
from django.utils.translation import gettext as _

from core.accounts.models import Team
from pools.clusters.cluster_index import ClusterIndex
from pools.errors import InvalidValues
from pools.inventory import poolers
from pools.inventory.poolers import InvalidPooler, PoolerCheck, PoolerValues
from pools.models import Entry, Pooler, usual_kind
from pools.models.poolers import PoolerQuerySet

logger = logging.getLogger(__name__)

MOST_LINES = 200
USUAL_PORT = 6432
SCHEMES = ("postgresql", "postgres")
TRIES = 50  # names for one address
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
LONGEST_NAME = 63


@dataclass(frozen=True)
class Line:
    """One line of the list; `problem` is why it can't be read. The text never shows the password of a URI."""

    number: int
    text: str
    host: str = ""
    port: int = USUAL_PORT
    user: str = ""
    password: str = field(default="", repr=False)
    problem: str = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a line: a new `pooler`, one that was registered before (`is_known`), or why there is none."""

    line: Line
    pooler: Pooler | None = None
    is_known: bool = False
    error: str = ""
    entries: int = 0
    elsewhere: int = 0  # entries whose server is not registered

    @property
    def state(self) -> str:
        """One word for the API."""
        if self.pooler is None:
            return "failed"
        return "known" if self.is_known else "watched"


def read(text: str) -> list[Line]:
    """Read `host`, `host:port` or a `postgresql://` URI from each line; empty lines and comments (#) are skipped.

    Raises `InvalidValues` for a list without any line, or with too many.
    """
    listed = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [_line(number, line) for number, line in listed if line and not line.startswith("#")]
    if not lines:
        raise InvalidValues({"lines": [_("the list has no line: give host or host:port, one a line")]})
    if len(lines) > MOST_LINES:
        message = _("the list has %(count)s lines: give at most %(most)s at once")
        raise InvalidValues({"lines": [message % {"count": len(lines), "most": MOST_LINES}]})
    return lines


def watch(
    lines: list[Line],
    login: Mapping[str, Any],
    author: Model | None = None,
    *,
    team: Team | None = None,
    known: PoolerQuerySet | None = None,
) -> Iterator[Outcome]:
    """Check the consoles of the lines in parallel and register those that answer, for `team` or the first one.

    The others are not saved.

    `login` has `admin_user`, `admin_password` and perhaps the `kind`; a URI's own login counts for its line. `known`
    are the poolers that the author sees, which are not registered twice; nothing is said of others at an address.
    """
    known = Pooler.objects.all() if known is None else known
    drafts = [_draft(line, login, team, known) for line in lines]
    unchecked = [one for one in drafts if isinstance(one, Pooler)]
    found = dict(zip((pooler.pk for pooler in unchecked), poolers.inspect_all(unchecked), strict=True))
    index = ClusterIndex.read()
    for line, draft in zip(lines, drafts, strict=True):
        yield _admitted(line, draft, found[draft.pk], index, author, known) if isinstance(draft, Pooler) else draft


def _line(number: int, text: str) -> Line:
    if "://" in text:
        return _of_uri(number, text)
    host, port = _host_and_port(text)
    line = Line(number, text, host)
    if port is None:
        return line
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        return replace(
            line, problem=_("%(port)s is not a port: enter a number from 1 to 65535") % {"port": port or repr("")}
        )
    return replace(line, port=int(port))


def _host_and_port(text: str) -> tuple[str, str | None]:
    """Split `host`, `host:port`, `[::1]:port` and a bare IPv6 address; a socket's folder may have a port too."""
    if text.startswith("["):
        host, _bracket, port_part = text[1:].partition("]")
        return host, port_part.removeprefix(":") if port_part else None
    if text.count(":") > 1 and not text.startswith("/"):
        return text, None
    host, colon, port = text.partition(":")
    return host, port if colon else None


def _of_uri(number: int, text: str) -> Line:
    try:
        parts = urlsplit(text)
        port = parts.port or USUAL_PORT
    except ValueError:
        return Line(number, _masked(text), problem=_("it is not a readable URI: check its port and its brackets"))
    line = Line(number, _masked(text), unquote(parts.hostname or ""), port)
    if parts.scheme not in SCHEMES:
        return replace(line, problem=_("it begins with postgresql://, or is host or host:port"))
    return replace(line, user=unquote(parts.username or ""), password=unquote(parts.password or ""))


def _masked(text: str) -> str:
    """Return a URI without its password."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:••••@", text)


def _draft(line: Line, login: Mapping[str, Any], team: Team | None, known: PoolerQuerySet) -> Pooler | Outcome:
    """Return an unsaved pooler, or why there is nothing to check."""
    if line.problem:
        return Outcome(line, error=line.problem)
    if registered := known.filter(host=line.host, port=line.port).first():
        return _with_counts(Outcome(line, registered, is_known=True))
    own = {"host": line.host, "port": line.port, "name": _free_name(line)}
    values = cast(PoolerValues, {"kind": usual_kind(), **login, **own})
    if line.user:
        values["admin_user"] = line.user
    if line.password:
        values["admin_password"] = line.password
    try:
        return poolers.new(values, team)
    except InvalidPooler as error:
        return Outcome(line, error=str(error))


def _admitted(
    line: Line,
    pooler: Pooler,
    found: PoolerCheck,
    index: ClusterIndex,
    author: Model | None,
    known: PoolerQuerySet,
) -> Outcome:
    if not found.version:
        return Outcome(line, error=found.reason or _("its console did not answer"))
    outcome = Outcome(line)
    for _try in range(TRIES):
        if registered := known.filter(host=line.host, port=line.port).first():  # the list has it twice
            return _with_counts(Outcome(line, registered, is_known=True))
        pooler.name = _free_name(line)
        try:
            poolers.admit(pooler, found, index, author)
        except InvalidPooler as error:  # another line took the name at this moment
            outcome = Outcome(line, error=str(error))
            continue
        return _with_counts(Outcome(line, pooler))
    return outcome


def _with_counts(outcome: Outcome) -> Outcome:
    own = Entry.objects.filter(pooler=outcome.pooler)
    elsewhere = own.unmanaged().filter(cluster=None).exclude(host="").count()
    return replace(outcome, entries=own.count(), elsewhere=elsewhere)


def _free_name(line: Line) -> str:
    """Return the host as a name, with the port or a number behind it where another pooler has that name."""
    host = NOT_IN_NAMES.sub("-", line.host).strip("-")[: LONGEST_NAME - 12] or "pooler"
    candidates = [host, f"{host}-{line.port}", *(f"{host}-{line.port}-{number}" for number in range(2, TRIES))]
    names = set(Pooler.objects.filter(name__in=candidates).values_list("name", flat=True))
    return next((name for name in candidates if name not in names), candidates[-1])
