"""What a kind of pooler has to know; `pools.deployment` does the rest (lock, revisions, states, rollback)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self
from uuid import UUID

from pools.errors import ApplyFailed, ConsoleRefused
from pools.models import Mode, Pool, Pooler, PoolSet
from pools.poolers.admin_commands import Column, Controls
from pools.poolers.adoption import Adoption
from pools.poolers.advisory import Advisory
from pools.poolers.server_connections import HeldServers
from pools.poolers.settings_schema import Setting, Version

Files = Mapping[str, bytes | None]
Problems = Iterator[tuple[str, str]]  # (field, message)


class Rejected(ApplyFailed):
    """The configuration can't go live; `pools` are those to blame, none where it can't be told.

    With `settings` the pooler's own settings, users or files are to blame, and only they need to give way.
    """

    def __init__(self, reason: str, *pools: UUID, settings: bool = False) -> None:
        super().__init__(reason)
        self.reasons, self.settings = dict.fromkeys(pools, reason), settings

    @property
    def pools(self) -> frozenset[UUID]:
        """Those to blame."""
        return frozenset(self.reasons)

    @classmethod
    def each(cls, reasons: Mapping[UUID, str]) -> Self:
        """Several pools at once, each for a reason of its own."""
        first, others = next(iter(reasons.values())), len(set(reasons.values())) - 1
        fault = cls(f"{first}; and {others} more such faults" if others else first)
        fault.reasons = dict(reasons)
        return fault


Route = tuple[UUID, str]  # a cluster, and which of its servers (Pool.target)


class ClusterBusy(ApplyFailed):
    """Servers let nobody in for now, or do not answer; `reasons` by the way to them.

    None of their pools is to blame, and what waits for them is tried again later.
    """

    def __init__(self, reasons: Mapping[Route, str]) -> None:
        super().__init__("; ".join(dict.fromkeys(reasons.values())))
        self.reasons = dict(reasons)


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
    """What a pool has done since its pooler started, summed over its users; times in microseconds."""

    queries: int = 0
    transactions: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    query_us: int = 0
    transaction_us: int = 0
    wait_us: int = 0


@dataclass(frozen=True)
class ConsoleSample:
    """What a console said in one login: by pool name, and its rows by SHOW word as it wrote them."""

    figures: dict[str, PoolFigures] = field(default_factory=dict)
    counters: dict[str, Counters] = field(default_factory=dict)
    rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)


@dataclass(frozen=True)
class LiveTable:
    """What a pooler's page shows of its console, moving: `words` columns of text come first, figures follow."""

    title: str
    columns: tuple[str, ...]
    words: int
    rows: list[list[Any]]


@dataclass(frozen=True)
class Draft:
    """A configuration ready to go live; `texts` go into the revision, `before` is what a rollback puts back.

    `changed` pools (keys) are asked for anew; of these, `moved` ones lead to other servers, or by another login.
    `settings_changed`: the pooler's own settings, users or files are rendered anew. `gone` files are to be removed.
    """

    texts: dict[str, str] = field(repr=False)
    before: Files = field(repr=False)
    changed: frozenset[str]
    moved: frozenset[str]
    settings_changed: bool = False
    gone: frozenset[str] = frozenset()

    @property
    def files(self) -> Files:
        """The bytes to put in place; None removes a file, after all others are there."""
        gone: dict[str, bytes | None] = dict.fromkeys(self.gone)
        return {name: text.encode(errors="surrogateescape") for name, text in self.texts.items()} | gone


class Progress(Protocol):
    """The apply that a session works for; both raise when its lease was lost, and then nothing may be written."""

    def step(self, word: str, detail: str = "") -> None:
        """Note a step for the page."""

    def renew(self) -> None:
        """Keep the lease through something that may take long."""


class Session(Protocol):
    """An open console of one pooler, held through one apply: it outlives a lockout that a bad file would cause."""

    version_text: str

    def draft(self, pools: PoolSet, settled: Mapping[str, str], trust_disk: bool) -> Draft:
        """Render the pools; those not pending keep their entry of `settled`. Raises `Rejected`, `ApplyFailed`.

        What a rollback puts back is what lies on disk, or `settled` where a dead worker may have written there.
        """

    def rehearse(self, draft: Draft, progress: Progress) -> None:
        """Find out, without touching the pooler, whether the draft can work. Raises `Rejected`."""

    def go_live(self, files: Files, progress: Progress) -> None:
        """Write the files and make the pooler read them. Raises `ApplyFailed`, `PoolerUnreachable`."""

    def read_back(self, files: Files) -> None:
        """Compare what the pooler says with what the files say, and log in to its console anew. Raises `Rejected`."""

    def log_in(self, draft: Draft, progress: Progress) -> None:
        """Log in through each changed pool to its database. Raises `Rejected`."""

    def restarts_needed(self) -> list[dict[str, str]]:
        """`{"name", "live", "wanted"}` of each setting in the files that the program reads at its start only.

        To be asked after `go_live`; such a setting is no failure. Raises `PoolerUnreachable`.
        """


class Driver(ABC):
    """A program that the panel configures: what is abstract every program needs, the rest has usual answers."""

    files: tuple[str, ...]  # that it writes into config_dir; none where it needs no folder
    main_file: str  # the operator's own, which the program is started with
    service: str  # the systemd unit of Debian's package
    usual_mode: Mode
    catalogue: tuple[Setting, ...]  # of all releases; see `settings_schema.offered`
    words: tuple[str, ...]  # SHOW commands its pages offer, in order
    columns: Mapping[str, Column]  # what the columns of their answers mean, where that is known
    verbs: tuple[str, ...] = ()  # console commands on one pool that its pages offer; none where it has none
    servers: HeldServers | None = None  # None where its console does not tell which it holds
    uncounted: frozenset[str] = frozenset()  # figures of `monitoring.rates` that its console does not tell
    keeps_every_password = False  # its pools of the inbound user let in whose password the panel knows, nobody else
    has_auth_query = False  # it can ask the cluster for the password of a user that it does not know (auth_query)
    has_console_login = True  # its console asks for a password
    needs_folder = True  # without one it can't even be watched
    control_port = ""  # what its manual calls the port over which it is reloaded; empty where it has none
    leads_to_all_nodes = False  # its pools take connections to each server of their cluster, whatever their target
    can_chain = False  # its pools can lead through one of a kind that `is_chainable`
    is_chainable = False
    exports_metrics = False  # /metrics has the figures of pgbouncer_exporter for it
    one_core_program = ""  # the name of its program, where each of its processes works on one core at the most
    restart_hint = ""  # a way to restart it that disconnects nobody
    connections_source = "SHOW POOLS"  # what its figures of connections are read from
    figure_sources: Mapping[str, str] = {}  # figure of `monitoring.rates` → the same of each, where it counts only some
    pool_notes: Mapping[str, str] = {}  # field of the pool form → its help text, where it is another than usually

    @abstractmethod
    def version_of(self, text: str) -> Version:
        """(1, 18) of what `check` answered; the oldest supported where the text holds no number."""

    @abstractmethod
    def problems(self, spec: Pool) -> Problems:
        """What of a pool this program can't take, beside the rules for all (`pools.inventory.pool_validation`)."""

    def advisories(self, version_text: str) -> tuple[Advisory, ...]:
        """The published weaknesses of the release that `check` answered."""
        return ()

    def clashes(self, spec: Pool) -> Problems:
        """What keeps a pool from standing beside the others of its pooler."""
        yield from ()

    @abstractmethod
    def check(self, pooler: Pooler) -> str:
        """Its version as it names it. Raises `PoolerUnreachable`."""

    def facts(self, pooler: Pooler) -> dict[str, int]:
        """The figures that are live and that its pools and the budget go by. Raises `PoolerUnreachable`."""
        return {}

    def connections_of(self, pooler: Pooler) -> int | None:
        """The server connections it may open whatever its pools are; None where that is the sum of their sizes."""
        return None

    def usual_size(self, pooler: Pooler) -> int | None:
        """The only size its pools can have; None where each has its own."""
        return None

    @abstractmethod
    def sample(self, pooler: Pooler) -> ConsoleSample:
        """What its pools do now, in one login. Raises `PoolerUnreachable`."""

    @abstractmethod
    def live_table(self, sample: ConsoleSample) -> LiveTable:
        """What the pooler's page shows of the last look at its console."""

    def words_of(self, pooler: Pooler) -> tuple[str, ...]:
        """Those of `words` that its release knows."""
        return self.words

    @abstractmethod
    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """The rows of a SHOW command, none where it has no such console. Raises `PoolerUnreachable`."""

    @abstractmethod
    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """Pools that are not live as these files have them, with the difference. Raises `PoolerUnreachable`."""

    def compare_program(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """What is not live as these files have it beside the pools, in words. Raises `PoolerUnreachable`."""
        return []

    @abstractmethod
    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Mapping[str, str]) -> str:
        """How clients are proved and about what that costs it, in a sentence; `notes`: role → why it is dear."""

    def stored_secret(self, texts: Mapping[str, str], role: str) -> str:
        """What its files hold of a role's password, in the server's form or in clear; empty for nothing."""
        return ""

    @abstractmethod
    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """Why a start on these files would fail, in the program's words; empty where it would not."""

    def changes(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """What the next reload, or start, would change by the operator's part. Raises `PoolerUnreachable`."""
        return []

    def detached(self, settled: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
        """File → what was done to it so that the program reads the panel's files no more; `settled` are those."""
        return {}

    @abstractmethod
    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        """What the files that were found ask for beyond those of the last applied revision."""

    @abstractmethod
    def open(self, pooler: Pooler) -> AbstractContextManager[Session]:
        """A session for an apply. Raises `PoolerUnreachable`."""

    def catch_up(self, pooler: Pooler) -> None:  # noqa: B027 (most programs have one process, which reads all at once)
        """Have what `Pooler.children_behind` names read the last apply. Raises `PoolerUnreachable`, `Rejected`."""

    def controls(self, pooler: Pooler) -> AbstractContextManager[Controls]:
        """The `verbs` over a login to its console. Raises `ConsoleRefused` where it has none, `PoolerUnreachable`."""
        raise ConsoleRefused(f"pooler {pooler}: {pooler.get_kind_display()} can't pause or kill one of its pools")

    @abstractmethod
    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The files with each secret replaced by dots."""

    @abstractmethod
    def ours(self, name: str, text: str) -> str:
        """The part of a file that the panel writes, to tell whether somebody else changed it."""
