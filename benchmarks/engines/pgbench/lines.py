"""Parses one line of pgbench's stderr: progress, dataset progress, aborted clients, errors, notices.

The formats are those of pgbench.c from 9.5 to 19. Patterns require the exact number of decimals that it prints, so that
a truncated figure is no figure.
"""

import math
import re
from dataclasses import dataclass, field

from benchmarks.engines.base import Progress


@dataclass(frozen=True, slots=True)
class InitProgress:
    """Rows made so far by `pgbench -i`; 17 and later print the `table`."""

    done: int
    total: int
    percent: int
    elapsed_s: float
    remaining_s: float
    table: str = ""


@dataclass(frozen=True, slots=True)
class InitPhase:
    """The beginning of a phase of `pgbench -i`; `step` is its letter in --init-steps."""

    step: str
    text: str


@dataclass(frozen=True, slots=True)
class InitDone:
    """The end of `pgbench -i`; 13 and later print its times (seconds)."""

    total_s: float | None = None
    phases_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AbortMessage:
    """Aborted clients, or an aborted run; `clients` holds the numbers named on this line."""

    text: str
    clients: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of pgbench, libpq or the server that names no aborted client."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A message that needs no action; `own` where it is certainly pgbench's."""

    text: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """A line of no known format; the summary module reads a summary's lines on stdout."""

    text: str


Line = Progress | InitProgress | InitPhase | InitDone | AbortMessage | Failure | Notice | Unknown

_NOT_A_NUMBER = r"-?(?:nan|inf)"
_PROGRESS = re.compile(
    rf"""progress:\ (?P<t>[0-9]{{1,12}}\.(?:[0-9]{{3}}|[0-9]))\ s,
    \ (?P<tps>[0-9]{{1,12}}\.[0-9]|{_NOT_A_NUMBER})\ tps,
    \ lat\ (?P<latency_ms>[0-9]{{1,12}}\.[0-9]{{3}}|{_NOT_A_NUMBER})\ ms
    \ stddev\ (?P<stddev_ms>[0-9]{{1,12}}\.[0-9]{{3}}|{_NOT_A_NUMBER})
    (?:,\ (?P<failed>[0-9]{{1,15}})\ failed)?
    (?:,\ lag\ (?P<lag_ms>[0-9]{{1,12}}\.[0-9]{{3}}|{_NOT_A_NUMBER})\ ms
        (?:,\ (?P<skipped>[0-9]{{1,15}})\ skipped)?)?
    (?:,\ (?P<retried>[0-9]{{1,15}})\ retried,\ (?P<retries>[0-9]{{1,15}})\ retries)?
    (?=\s*$|pgbench:)""",
    re.VERBOSE | re.IGNORECASE,
)
# Threads write to stderr at once, an error's text apart from its newline: a progress line may follow another thread's
# error on one line, and the next error follow it. After any other text it is a quotation (in a server's NOTICE).
_OWN_TEXT = re.compile(r"\s*$|.*(?:pgbench|error|fatal):")
_INIT_PROGRESS = re.compile(
    r"(?P<done>[0-9]{1,15}) of (?P<total>[0-9]{1,15}) tuples \((?P<percent>[0-9]{1,3})%\)"
    r"(?: of (?P<table>\w{1,63}))? done"
    r"(?: \(elapsed (?P<elapsed>[0-9]{1,9}\.[0-9]{2}) s, remaining (?P<remaining>-?[0-9]{1,9}\.[0-9]{2}) s\))?[.]?"
)
_INIT_DONE = re.compile(r"done in (?P<total>[0-9]{1,9}\.[0-9]{2}) s(?: \((?P<phases>.*)\))?\.")
_INIT_TIME = re.compile(r"([a-z][a-z -]*) ([0-9]{1,9}\.[0-9]{2}) s")
_INIT_PHASES = (
    ("d", re.compile(r"dropping old tables\.\.\.")),
    ("t", re.compile(r"creating tables\.\.\.|creating [0-9]+ partitions\.\.\.")),
    ("g", re.compile(r"generating data(?: \(client-side\))?\.\.\.")),
    ("G", re.compile(r"generating data \(server-side\)\.\.\.")),
    ("v", re.compile(r"vacuum(?:ing)?\.\.\.")),
    ("p", re.compile(r"(?:set|creating) primary keys\.\.\.")),
    ("f", re.compile(r"(?:set|creating) foreign keys\.\.\.")),
)
_CLIENT_ABORTED = re.compile(
    r"(?:^|(?:pgbench|error|fatal):)\s*[Cc]lient ([0-9]{1,9})(?: script [0-9]{1,9})? aborted (?:in|while)\b"
)
_RUN_ABORTED = re.compile(r"(?:^|(?:pgbench|error|fatal):)\s*Run was aborted")
_FAILURE = re.compile(
    r".*pgbench:\s*(?:error|fatal):|error:|(?:ERROR|FATAL|PANIC):|[Cc]onnection to (?:database|server) .*failed:"
    r"|could not connect to server|COPY is not supported in pgbench, aborting|Cancel request sent"
)
_OWN_NOTICE = re.compile(
    r"pgbench:|starting vacuum|end\.$|scale option ignored, using count|setting random seed to [0-9]"
)
_NOTICE = re.compile(r"(?:NOTICE|WARNING|DETAIL|HINT|INFO|LOG|CONTEXT|LINE [0-9]+):")


def read_line(text: str) -> Line:
    """Parse one line of stderr; never raise. A truncated line is not a sample."""
    text = text.rstrip("\r\n")
    stripped = text.strip()
    known = _read_progress(text) or _read_init(stripped) or _read_aborted(stripped) or _read_message(stripped)
    return known or Unknown(text)


def _read_progress(text: str) -> Progress | None:
    start = text.rfind("progress: ")
    found = _PROGRESS.match(text, start) if start >= 0 and _OWN_TEXT.match(text[:start]) else None
    if not found:
        return None
    return Progress(
        t=float(found["t"]),
        tps=figure(found["tps"]),
        latency_ms=figure(found["latency_ms"]),
        stddev_ms=figure(found["stddev_ms"]),
        failed=_count(found["failed"]),
        lag_ms=figure(found["lag_ms"]),
        skipped=_count(found["skipped"]),
        retried=_count(found["retried"]),
        retries=_count(found["retries"]),
    )


def figure(text: str | None) -> float | None:
    """Return a printed figure; None where nothing, a NaN or an infinity was printed."""
    value = float(text) if text else math.nan
    return value if math.isfinite(value) else None


def _count(text: str | None) -> int | None:
    return int(text) if text else None


def _read_init(text: str) -> InitProgress | InitPhase | InitDone | None:
    if found := _INIT_PROGRESS.fullmatch(text):
        return _init_progress(found)
    if found := _INIT_DONE.fullmatch(text):
        phases = {name: float(seconds) for name, seconds in _INIT_TIME.findall(found["phases"] or "")}
        return InitDone(float(found["total"]), phases)
    if text == "done.":
        return InitDone()
    return next((InitPhase(step, text) for step, pattern in _INIT_PHASES if pattern.fullmatch(text)), None)


def _init_progress(found: re.Match[str]) -> InitProgress:
    return InitProgress(
        done=int(found["done"]),
        total=int(found["total"]),
        percent=min(int(found["percent"]), 100),
        elapsed_s=float(found["elapsed"] or 0),
        remaining_s=float(found["remaining"] or 0),
        table=found["table"] or "",
    )


def _read_aborted(text: str) -> AbortMessage | None:
    clients = aborted_clients(text)
    return AbortMessage(text, clients) if clients or _RUN_ABORTED.search(text) else None


def aborted_clients(text: str) -> tuple[int, ...]:
    """Return the numbers of the clients that a line reports as aborted; threads may put several on one line."""
    return tuple(int(number) for number in _CLIENT_ABORTED.findall(text))


def _read_message(text: str) -> Failure | Notice | None:
    if _FAILURE.match(text):
        return Failure(text)
    own = bool(_OWN_NOTICE.match(text))
    return Notice(text, own) if own or _NOTICE.match(text) else None
