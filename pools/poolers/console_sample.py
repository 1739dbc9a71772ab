"""What a poll of a pooler's console returns, alike for each kind: figures, counters, entries and the live table."""

from dataclasses import dataclass, field
from typing import Any

from pools.models import Mode


@dataclass(frozen=True)
class PoolFigures:
    """The connections of one pool now, summed over its users; `maxwait_ms` is the longest wait of a client."""

    cl_active: int = 0
    cl_waiting: int = 0
    sv_active: int = 0
    sv_idle: int = 0
    sv_used: int = 0
    maxwait_ms: int = 0


@dataclass(frozen=True)
class Counters:
    """The counters of a pool since its pooler started, summed over its users; times in microseconds."""

    queries: int = 0
    transactions: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    query_us: int = 0
    transaction_us: int = 0
    wait_us: int = 0


@dataclass(frozen=True)
class ProcessFigures:
    """The connections of one of the processes that share a port now; `error` of one that does not answer."""

    name: str
    pid: int | None = None
    cl_active: int = 0
    cl_waiting: int = 0
    sv_active: int = 0
    sv_idle: int = 0
    error: str = ""


@dataclass(frozen=True)
class ConsoleSample:
    """One poll of a console: figures and counters by pool name, and the raw rows by SHOW word.

    Where several processes share the port they are sums, and `processes` has a row for each. `clients` are all that are
    connected, of the `most_clients` that are let in; 0 where the kind does not tell it.
    """

    figures: dict[str, PoolFigures] = field(default_factory=dict)
    counters: dict[str, Counters] = field(default_factory=dict)
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    processes: list[ProcessFigures] = field(default_factory=list)
    clients: int = 0
    most_clients: int = 0


@dataclass(frozen=True)
class FoundEntry:
    """An entry as a pooler shows it, whoever wrote it; see `pools.models.Entry` for the words."""

    name: str
    host: str = ""
    port: int | None = None
    database: str = ""
    user: str = ""
    mode: str = Mode.SESSION.value
    size: int | None = None
    reserve: int = 0
    max_connections: int = 0
    connections: int = 0
    paused: bool = False
    disabled: bool = False
    automatic: bool = False  # a `*` entry made it for a client; it goes when it is unused
    unused: int = 0  # databases that a `*` entry made and that nobody uses now; the console alone shows them
    # name of a host → addresses to which the pooler resolved it
    addresses: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LiveTable:
    """The live table of a pooler's page: the first `words` columns are text, the others figures."""

    title: str
    columns: tuple[str, ...]
    words: int
    rows: list[list[Any]]
