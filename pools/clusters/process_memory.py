"""Reads the memory of a server's sessions where their processes run on this host (Linux's /proc)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum, auto
from pathlib import Path

import psutil

PROC = Path("/proc")
ROLLUP = re.compile(r"^(\w+): +(\d+) kB$", re.MULTILINE)
KB = 1024


class Why(StrEnum):
    """Why the memory of the sessions could not be measured."""

    ELSEWHERE = auto()  # The server's processes are not on this host.
    FORBIDDEN = auto()  # they are here, and this account may not read their memory
    NONE_IDLE = auto()  # there is nothing to measure
    HIDDEN = auto()  # the panel's role may not see which are idle


@dataclass(frozen=True)
class ProcessMemory:
    """Means over some processes, in bytes: a session's own memory, and that with its share of what is shared.

    `own` is smaps_rollup's Pss_Anon (proc(5); Linux 5.3): what ends with the session, without the shared buffers that
    it touched, which count as private for a process that touched them alone. Where the kernel does not report it,
    `own` is the whole Pss. psutil does not read it.
    """

    processes: int
    own: int
    proportional: int

    @property
    def counts_shared(self) -> bool:
        """True if `own` holds a share of the shared memory too: that share is never 0, code is shared as well."""
        return self.own == self.proportional


@dataclass(frozen=True)
class Session:
    """A session of the panel's own as the server reports it; `client_port` is None over a Unix socket."""

    pid: int
    user: str
    database: str
    client_port: int | None


def is_here(session: Session) -> bool:
    """Return whether the session's process runs on this host.

    A process of that number may run here by chance; the title that PostgreSQL gives it names the user, the database
    and the client's port (ps_status.c), and no other session has that port.
    """
    where = "[local]" if session.client_port is None else f"({session.client_port})"
    title = _read(session.pid, "cmdline").replace("\0", " ")
    return title.startswith("postgres") and f" {session.user} {session.database} " in title and where in title


def measure(session: Session, pids: Iterable[int]) -> ProcessMemory | Why:
    """Measure the memory of sessions of a server; `session` is the panel's own there and proves that it runs here."""
    pids = list(pids)
    if not is_here(session):
        return Why.ELSEWHERE
    if not pids:
        return Why.NONE_IDLE
    postmaster = _parent(session.pid)
    try:
        measured = [figures for pid in pids if _parent(pid) == postmaster and (figures := _rollup(pid))]
    except PermissionError:
        return Why.FORBIDDEN
    if not measured:
        return Why.NONE_IDLE
    own, proportional = (sum(column) // len(measured) for column in zip(*measured, strict=True))
    return ProcessMemory(len(measured), own, proportional)


def memory_of_host() -> int | None:
    """Return the memory of this host in bytes; None where the kernel does not report it."""
    return int(psutil.virtual_memory().total) or None


def _rollup(pid: int) -> tuple[int, int] | None:
    """Read its own and proportional bytes, as `Measured` has them; None for a process that has ended."""
    try:
        text = (PROC / str(pid) / "smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    sizes = {name: int(size) * KB for name, size in ROLLUP.findall(text)}
    return (sizes.get("Pss_Anon", sizes["Pss"]), sizes["Pss"]) if "Pss" in sizes else None


def _parent(pid: int) -> int | None:
    """Return the id of its parent process (proc(5), stat); the name in brackets may contain any character."""
    fields = _read(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else None


def _read(*path: object) -> str:
    try:
        return PROC.joinpath(*map(str, path)).read_text(errors="replace")
    except OSError:  # it ended, or is hidden from this account
        return ""
