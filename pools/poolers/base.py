"""Interface of a pooler's driver; `pools.deployment` does the rest (lock, revisions, states, rollback)."""

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import psutil
from django.utils.translation import gettext as _

from pools.errors import ConsoleRefused
from pools.models import Mode, Pool, Pooler, ProcessRow, ProcessState
from pools.poolers import local_process
from pools.poolers.admin_commands import Column, Controls
from pools.poolers.adoption import Adoption
from pools.poolers.advisory import Advisory
from pools.poolers.console_sample import ConsoleSample, FoundEntry, LiveTable
from pools.poolers.features import Features
from pools.poolers.nodes import NodeAdmin
from pools.poolers.pool_queue import PoolClient, PoolQueue
from pools.poolers.pooler_log import LogEnd, LoginLog
from pools.poolers.process_plan import ProcessPlan
from pools.poolers.server_connections import HeldServers
from pools.poolers.session import Session
from pools.poolers.settings_schema import Setting, Version

ABSOLUTE_PATH = re.compile(r"(?m)(?<=[\s='\"])/[^\s'\",;]+")
READ_BY_POOLERS = (".ini", ".conf", ".cfg", ".txt", ".pem", ".crt", ".key")
Problems = Iterator[tuple[str, str]]  # (field, message)


class Driver(ABC):
    """A program that the panel configures: every driver implements the abstract members, the others have defaults."""

    files: tuple[str, ...]  # written to config_dir; none where it needs no folder
    main_file: str  # the operator's own, which the program is started with
    service: str  # the systemd unit of Debian's package
    immediate_shutdown: str  # the signal or command that ends it whatever its clients do
    program: str  # the name of its processes
    port_setting = ""  # its main file has the port as `port_setting = 6432`; empty where it has none
    usual_mode: Mode
    catalog: tuple[Setting, ...]  # the settings of all releases; see `settings_schema.offered`
    manual: str  # the address of its manual; see `settings_schema.manual_url`
    words: tuple[str, ...]  # SHOW commands its pages offer, in order
    columns: Mapping[str, Column]  # the meaning of their columns, where that is known
    verbs: tuple[str, ...] = ()  # console commands on one pool that its pages offer; none where it has none
    servers: HeldServers | None = None  # None where its console does not list its server connections
    uncounted: frozenset[str] = frozenset()  # figures of `monitoring.rates` that its console does not report
    keeps_every_password = False  # its pools of the inbound user admit only roles whose password the panel knows
    has_auth_query = False  # it can ask the cluster for the password of a user that it does not know (auth_query)
    has_console_login = True  # its console asks for a password
    control_port = ""  # its manual's name of the port that takes the reload command; empty where it has none
    admits_others = False  # its pools can let in roles besides their own user, who then work as that user
    leads_to_all_nodes = False  # its pools take connections to each server of their cluster, whatever their target
    features = Features()  # its abilities, for the table that compares kinds
    node_admin: NodeAdmin | None = None  # None where it has no backends that can be attached and detached
    can_chain = False  # its pools can lead through one of a kind that `is_chainable`
    is_chainable = False
    exports_metrics = False  # /metrics has the figures of pgbouncer_exporter for it
    is_fetchable = False  # its files can be fetched by somebody (delivery `pull`)
    fetched_names: Mapping[str, str] = {}  # the panel's name of a file → the one that it has where it is fetched
    takes_experiments = False  # an experiment makes pools on it for its arms
    managed_section = ""  # the managed provider's section of a cluster's configuration that has its settings
    sizes_each_pool = False  # each of its pools has a size and a mode of its own, so that sizes can be tried
    serves_one_cluster = False  # all its pools lead to the same cluster
    shares_connections = False  # the databases that clients can name on it share all its connections
    clients_wait_uncounted = False  # beyond the limit of its clients they wait in the kernel's queue
    can_be_taken_over = False  # the files of a running one can become the panel's (`pools.deployment.take_overs`)
    compared_views = ""  # its console's names of what the first apply of a take-over must not change
    counts_entries = False  # its console counts clients and servers of each database that clients can name
    counts_from_its_start = False  # the counters of a pool that stays are less only after a restart, or a KILL
    clients_setting = ""  # its manual's name of the most clients that it lets in; empty where `most_clients` tells none
    read_log: Callable[[Pooler, str], LogEnd] | None = None  # from its host, by the path of its main file
    login_log: LoginLog | None = None  # None where refused logins can't be read from its log
    one_core_program = ""  # the name of its program, where each of its processes uses one core at most
    process_plan: Callable[[Pooler, int], ProcessPlan] | None = None  # None where it can't share its port

    def files_of(self, pooler: Pooler) -> tuple[str, ...]:
        """Return `files`, and those that depend on the number of its processes."""
        return self.files

    def processes_awaited(self, pooler: Pooler) -> str:
        """Return a sentence about the requested processes that were not read back yet; empty once all were."""
        return ""

    def has_unread_processes(self, pooler: Pooler) -> bool:
        """Return whether a process has come or gone that an apply has to follow, by the last check."""
        return False

    @property
    def has_log(self) -> bool:
        """True if the panel reads its log."""
        return self.read_log is not None

    @property
    def restart_hint(self) -> str:
        """A sentence on restarting it without disconnecting clients; empty where that is impossible."""
        return ""

    @property
    def overwrite_note(self) -> str:
        """A sentence about the parts that an apply that overwrites manual edits leaves as they are."""
        return _("Everything above the panel's mark stays.")

    @property
    def connections_source(self) -> str:
        """The source of its figures of connections."""
        return "SHOW POOLS"

    @property
    def figure_sources(self) -> Mapping[str, str]:
        """Figure of `monitoring.rates` → its source, for a driver that counts only some of them."""
        return {}

    @property
    def pool_notes(self) -> Mapping[str, str]:
        """Field of the pool form → its help text with `{pooler}`, where it differs from the usual one."""
        return {}

    def main_path(self, pooler: Pooler) -> str:
        """Return the path of the file that it is started with, as its host names it; empty for a watched one."""
        return pooler.config_file or (f"{pooler.config_dir}/{self.main_file}" if pooler.config_dir else "")

    def main_file_in(self, argv: Sequence[str]) -> str:
        """Return the main file that a command line of its program names; empty for none."""
        words = [word for option in argv[1:] for word in option.split("=", 1)]
        pairs = itertools.pairwise(words)
        return next((file for option, file in pairs if option in ("-f", "--config-file")), "")

    def port_in(self, text: str) -> int | None:
        """Return the port that its main file sets; None where it sets none."""
        found = re.findall(rf"(?m)^\s*{self.port_setting}\s*=\s*'?(\d+)", text) if self.port_setting else []
        return int(found[-1]) if found else None

    @abstractmethod
    def version_of(self, text: str) -> Version:
        """Return the release as (1, 18) from the text of `check`; the oldest supported where it has no number."""

    @abstractmethod
    def problems(self, spec: Pool) -> Problems:
        """Yield field and message for each value of a pool that this program refuses and `pool_validation` does not."""

    def advisories(self, version_text: str) -> tuple[Advisory, ...]:
        """Return the published vulnerabilities of the release that `check` returned."""
        return ()

    def limits_problems(self, pooler: Pooler, user: str, limits: Mapping[str, Any]) -> Problems:
        """Yield why a user can't have these limits beside the pools that it has."""
        yield from ()

    def clashes(self, spec: Pool) -> Problems:
        """Yield why a pool can't coexist with the other pools of its pooler."""
        yield from ()

    @abstractmethod
    def check(self, pooler: Pooler) -> str:
        """Return its version in its own words. Raises `PoolerUnreachable`."""

    def facts(self, pooler: Pooler) -> dict[str, int]:
        """Return the live figures that validation of pools and the budget use. Raises `PoolerUnreachable`."""
        return {}

    def console_problems(self, folder: str, stats_address: str) -> Problems:
        """Yield why a pooler of this kind can't be asked with what was given of its folder and its statistics."""
        if stats_address:
            yield "stats_address", _("only an HAProxy has a stats socket or page: leave it empty")

    def entries(self, pooler: Pooler) -> list[FoundEntry] | None:
        """Return all that clients can name as a database; None where it does not tell. Raises `PoolerUnreachable`."""
        return None

    def claim_on(self, pooler: Pooler, name: str) -> str:
        """Return a sentence of what the operator has by that name on a managed pooler; empty where a pool may have it.

        Asks the console; empty too where that does not answer, or where the files are on another host.
        """
        return ""

    def refuse_layout(self, pooler: Pooler) -> None:
        """Raise `ApplyFailed` where it reads other files than those of its folder, as an apply would."""
        return

    def commands_refused(self, pooler: Pooler) -> str:
        """Return why its console login may only read; empty where it may send commands. Raises `PoolerUnreachable`."""
        return ""

    def is_shutting_down(self, process: psutil.Process) -> bool:
        """Return whether a process of it, which served before, takes no new clients. Raises `psutil.Error`."""
        return not local_process.listens(process)

    def processes(self, pooler: Pooler, version_text: str) -> list[ProcessRow]:
        """Return each process that shares its port.

        One that distributes clients among its own children is one, by the pid of their parent; None where that can't be
        seen from here. Raises `PoolerUnreachable`.
        """
        main, pid = self.main_path(pooler), local_process.parent(pooler, self.program)
        return [
            {
                "name": PurePosixPath(main).name or self.program,
                "main_file": main,
                "pid": pid,
                "socket": "",
                "peer_id": None,
                "version": version_text,
                "state": ProcessState.ONLINE.value,
            }
        ]

    def take_over_obstacle(self, pooler: Pooler) -> str:
        """Return why a running one can't be taken over, whatever its files; empty where it can."""
        text = _("the panel has no steps that take over a running %(kind)s: give its folder to manage it")
        return text % {"kind": pooler.get_kind_display()}

    def connections_of(self, pooler: Pooler) -> int | None:
        """Return the server connections it may open whatever its pools are; None: the sum of their sizes."""
        return None

    def most_clients(self, pooler: Pooler) -> int | None:
        """Return the number of clients that its live settings let in at once; None where it does not tell."""
        return None

    def only_name(self, pooler: Pooler, database: str) -> str:
        """Return the only name that a pool of this database can have; empty where it can have any."""
        return ""

    def usual_size(self, pooler: Pooler) -> int | None:
        """Return the only size that its pools can have; None where each has its own."""
        return None

    @abstractmethod
    def sample(self, pooler: Pooler) -> ConsoleSample:
        """Poll the figures and counters of its pools, in one login. Raises `PoolerUnreachable`."""

    @abstractmethod
    def live_table(self, sample: ConsoleSample) -> LiveTable:
        """Build the live table of the pooler's page from a poll of its console."""

    @abstractmethod
    def queue(self, pooler: Pooler, name: str) -> PoolQueue:
        """Read the queue of one pool, and who has its server connections. Raises `PoolerUnreachable`, `NotLive`."""

    def clients(self, pooler: Pooler) -> list[PoolClient] | None:
        """List the clients of all its pools; None where its console lists none. Raises `PoolerUnreachable`."""
        return None

    def words_of(self, pooler: Pooler) -> tuple[str, ...]:
        """Return those of `words` that its release knows."""
        return self.words

    @abstractmethod
    def show(self, pooler: Pooler, word: str) -> list[dict[str, object]]:
        """Return the rows of a SHOW command, none where it has no such console. Raises `PoolerUnreachable`."""

    @abstractmethod
    def compare(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[UUID, str]:
        """Return the pools whose live state differs from these files, each with the difference.

        Raises `PoolerUnreachable`.
        """

    def compare_program(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """Describe how its live settings differ from these files. Raises `PoolerUnreachable`."""
        return []

    def probing_role(self, pool: Pool) -> str:
        """Return the role that logs in through a pool to prove that it serves clients."""
        return pool.login

    def needs(self, pool: Pool) -> int:
        """Return the server connections of its role and database that a pool must be able to open."""
        return 1 if self.usual_size(pool.pooler) is not None else pool.size  # it shares those of its pooler

    @abstractmethod
    def probe(self, pool: Pool, role: str, password: str) -> None:
        """Run a client's first query through a pool; asks no database of the panel, so that threads can call it.

        Raises `Rejected` with the reason where a client would fail, `Unproved`, `PoolerUnreachable`.
        """

    def uses_auth_query(self, pool: Pool) -> bool:
        """Return whether a pool of the inbound user needs the look-up that its cluster has (`clusters.auth_query`)."""
        return False

    @abstractmethod
    def client_auth_note(self, pool: Pool, texts: Mapping[str, str], notes: Sequence[str]) -> str:
        """Describe in a sentence how clients authenticate and what that costs it.

        `notes` are the details of the steps of the apply that wrote its files, `texts`.
        """

    def login_remedy(self, version_text: str, *, is_managed: bool) -> str:
        """Return a sentence on reducing the processor time of a login to this release; empty where nothing does.

        `is_managed`: whether the login is to a pool of the panel, which can be applied again.
        """
        return ""

    def access_obstacle(self, texts: Mapping[str, str]) -> str:
        """Return why its pools let in users beyond those they name, by its files; empty where they don't."""
        return ""

    def first_texts(self, pooler: Pooler) -> dict[str, str]:
        """Return the files with which a pooler that fetches them can start, before it has any pool."""
        return {}

    def stored_verifier(self, texts: Mapping[str, str], role: str) -> str:
        """Return the server's verifier that its files hold for a role; empty where they hold none."""
        return ""

    @abstractmethod
    def start_error(self, pooler: Pooler, texts: Mapping[str, str]) -> str:
        """Return why a start on these files would fail, in the program's words; empty where it would not."""

    def files_elsewhere(self, pooler: Pooler, texts: Mapping[str, str]) -> dict[str, bool]:
        """Return the paths that these files name: an apply may be refused for what lies there.

        The value tells whether its content counts; that of a log changes all the time.
        """
        named = ABSOLUTE_PATH.findall(texts.get(self.main_file, ""))
        return {path: path.endswith(READ_BY_POOLERS) for path in named}

    def changes(self, pooler: Pooler, texts: Mapping[str, str]) -> list[str]:
        """List the effects of the operator's part at the next reload or start. Raises `PoolerUnreachable`."""
        return []

    def detached(self, settled: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
        """Return file → the edit after which the program no longer reads the panel's files, which are `settled`."""
        return {}

    @abstractmethod
    def adoption(self, settled: Mapping[str, str], found: Mapping[str, str]) -> Adoption:
        """Return the changes of records that the edits in `found` ask for; `settled` is the last applied revision."""

    @abstractmethod
    def open(self, pooler: Pooler) -> AbstractContextManager[Session]:
        """Open a session for an apply. Raises `PoolerUnreachable`."""

    def catch_up(self, pooler: Pooler) -> None:  # noqa: B027 (most programs have one process, which reads all at once)
        """Reload the processes that `Pooler.children_behind` names. Raises `PoolerUnreachable`, `Rejected`."""

    def controls(self, pooler: Pooler) -> AbstractContextManager[Controls]:
        """Log in to its console to run `verbs`. Raises `ConsoleRefused` without one, `PoolerUnreachable`."""
        raise ConsoleRefused(
            _("pooler %(pooler)s: %(kind)s can't pause or kill one of its pools")
            % {"pooler": pooler, "kind": pooler.get_kind_display()}
        )

    @abstractmethod
    def masked(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the files with each secret replaced by dots."""

    @abstractmethod
    def ours(self, name: str, text: str) -> str:
        """Return the part of a file that the panel writes, to detect manual edits of it."""
