"""The contract of engines: their options, samples and parsed lines, and the context of a run."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from django.db.models import TextChoices
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmarks.engines.binaries import Program, ProgramMissing
from benchmarks.engines.log_files import LogFiles
from benchmarks.engines.prepared_statements import PreparingOption
from benchmarks.engines.sentences import CLIENTS, MISSING_FILE, TRANSACTIONS, UnitSentences, WorkerSentences
from benchmarks.errors import BenchmarksError
from benchmarks.models import Purpose, Run
from benchmarks.models.conditions import RunConditions
from benchmarks.models.options import RunOptions
from benchmarks.models.summaries import ScriptSummary, Statement, Summary
from benchmarks.processes.command import Command
from benchmarks.processes.machines import Machine
from pools.clusters.endpoints import Endpoint

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

Value = int | float | bool | str
OptionsT = TypeVar("OptionsT", bound=RunOptions)
_MORE_THREADS, _SCALE = _("use more threads"), _("scale %(size)s")


class OptionGroup(TextChoices):
    """Headings under which a form sorts the options of an engine."""

    LOAD = "Load", _("Load")
    TARGET = "Target", _("Target")
    SCRIPTS = "Scripts", _("Scripts")
    STATEMENTS = "Statements", _("Statements")
    REQUESTS = "Requests", _("Requests")
    CONNECTIONS = "Connections", _("Connections")
    PACE = "Pace", _("Pace")
    FAILURES = "Failures", _("Failures")
    REPORT = "Report", _("Report")
    DATASET = "Dataset", _("Dataset")
    CONDITIONS = "Conditions", _("Conditions")


@dataclass(frozen=True, slots=True)
class Field:
    """One option of a program: its name (underscores for hyphens), its label and help for people, its permitted values.

    `since` is the first major version that has the option; a `default` of None means "not passed".
    """

    name: str
    flag: str
    label: "StrOrPromise"
    kind: str  # int, float, bool, choice, text or one of the engine's own
    default: Value | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    help: "StrOrPromise" = ""
    group: OptionGroup = OptionGroup.LOAD
    purpose: str = "load"
    since: int = 9


@dataclass(frozen=True, slots=True)
class Progress:
    """One interval of a load. Counts are of that interval; None stands for what was not printed or was a NaN.

    `t` is in seconds since the load began (a Unix time under pgbench's --progress-timestamp).
    """

    t: float
    tps: float | None
    latency_ms: float | None
    stddev_ms: float | None
    failed: int | None = None
    lag_ms: float | None = None
    skipped: int | None = None
    retried: int | None = None
    retries: int | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None


class RunContext(Protocol):
    """A run about to start, as the set-up steps around its load see it."""

    @property
    def run(self) -> Run:
        """The record of the run whose load this is."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that the load logs in to."""

    @property
    def home(self) -> Path:
        """Its private home, a folder that the load program can read."""

    @property
    def is_here(self) -> bool:
        """True if its load runs on this machine."""

    def report(self, words: str) -> None:
        """Publish to live viewers what is being done."""

    def note(self, noted: RunConditions) -> None:
        """Add what was done or measured to the run's `conditions`."""

    def check(self) -> None:
        """Renew the lease; raise where the run must end. Long steps call it every 0.4 s."""


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A parsed line of a running program: a sample, the progress of a preparation in percent, or neither.

    The sample's interval ended `late_s` before the line; `worth_reporting` lines are shown among the run's messages.
    """

    sample: Progress | None = None
    late_s: float = 0.0
    percent: float | None = None
    worth_reporting: bool = True


@dataclass(frozen=True, slots=True)
class ProgramTerms:
    """The name of a program, the sentences about its runs, and when and where it prints its progress."""

    program: str  # a name, the same in every language
    units: UnitSentences = TRANSACTIONS
    workers: WorkerSentences = CLIENTS
    busier: str | Promise = _MORE_THREADS  # the remedy where the program itself was the bottleneck
    full_service: str | Promise = ""  # the sentence about a service beside its load that took %(taken)s %% of a core
    stream: str = "stderr"  # the stream that carries its progress lines
    starts_within_s: float = 0.0  # limit for the time before its load begins, on a busy host
    slow_start_s: float = 0.0  # time from the start of the load to its first request
    silent_end: str | Promise = ""  # the likely cause where a signal ended it without a message


@dataclass(frozen=True, slots=True)
class Output:
    """Everything that one execution printed, for any program; an engine may subclass it.

    `summary` has the keys of the API and more of the same kind (`clients threads duration_s transactions_expected
    retries skipped lag_avg_ms …`); a key is absent where nothing was printed, and None where a NaN was. A statement is
    `{script, latency_ms, failures, retries, statement}`. Where several scripts ran, each of `scripts` has the summary's
    keys beside its `name weight target_percent percent`.
    """

    terms: ProgramTerms
    summary: Summary = field(default_factory=Summary)
    scripts: list[ScriptSummary] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    client_version: str = ""
    server_version: str = ""  # empty where it was not printed
    run_aborted: bool = False
    aborted_clients: frozenset[int] = frozenset()
    errors: list[str] = field(default_factory=list)
    prepared: bool = False  # the dataset that was asked for is complete
    prepared_rows: int | None = None
    recognized: int = 0  # lines that only this program prints
    executions: int = 0  # executions in the text; more than one where several outputs were joined
    latencies: list[tuple[float, int]] = field(default_factory=list)  # (ms, count), where it printed a histogram

    @property
    def has_summary(self) -> bool:
        """True if the program ended normally and printed its summary."""
        return "transactions" in self.summary

    @property
    def aborted(self) -> bool:
        """True if a client aborted, or the program reported the whole run as aborted."""
        return self.run_aborted or bool(self.aborted_clients)

    @property
    def samples(self) -> list[Progress]:
        """The progress with `t` in seconds since the load began."""
        return self.progress

    @property
    def began_s(self) -> float | None:
        """The Unix time at which the load began, where the progress lines carry one."""
        return None

    @property
    def server_number(self) -> str:
        """The server's version as a number, `15.18`; empty where it is not known."""
        return self.server_version.partition(" ")[0]

    @property
    def is_preparation(self) -> bool:
        """True if it prepared a dataset instead of running a load."""
        return False


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a load uses or a preparation makes, and the words for them.

    `size_query` reads table `counted` and returns the size (null or 0: no rows) in the unit that `sized` names, each
    unit `rows_each` rows. `size` is what the options ask for: made by a preparation, needed by a load. In `sized`,
    `%(size)s` stands for the size and `%(sets)s` for `sets`, the number of tables or sets of tables of that size.
    """

    engine: str
    names: tuple[str, ...]
    kind: str  # the name in "the pgbench tables", the same in every language
    marked: str  # the one that carries the panel's comment
    counted: str
    size_query: str
    size: int
    rows_each: int = 1
    sized: str | Promise = _SCALE
    sets: int = 1
    takes_bytes: int = 0
    tablespaces: tuple[str, ...] = ()  # tablespaces of the tables; empty: the database's own
    writes: str = ""  # the script that writes to them; empty: they are only read
    sparing: str = ""  # the script to choose instead, which writes nothing
    needed_empty: bool = False  # a load must find no rows in them
    dropped: bool = False  # this preparation removes them
    alone: bool = False  # the preparation works only in a database that holds no table, not even these
    contended_below: int = 0  # the size below which the clients of this load wait for each other's rows

    @property
    def rows(self) -> int:
        return self.rows_each * self.size

    def of_size(self, size: int | None) -> str:
        """Return a size in words: `scale 10`, `2 × 10,000 rows`."""
        return str(self.sized) % {"size": f"{size or 0:,}", "sets": f"{self.sets:,}"}


class Engine(ABC, Generic[OptionsT]):
    """A load program that runs can use: the contract between engines and the rest of the panel.

    An engine is a folder beside this module with a subclass in it, and a line in `benchmarks.engines.NAMES`. Methods
    that are not abstract have a default for engines without that feature. `options` are the validated options of a run,
    as the engine declares them. A mapping "option → messages" gives the reasons against an option; it is empty where
    there are none.
    """

    name: str
    terms: ProgramTerms
    imports_output = False  # A printed output can be imported as a run, which needs `options_from_summary`.
    kind_schemas: Mapping[str, Mapping[str, object]] = MappingProxyType({})  # JSON schemas of its own kinds of `Field`
    prepared_statements: PreparingOption | None = None  # None where it prepares none by the protocol
    missing_file = MISSING_FILE  # the message about the file that `file_needed` names
    takes_library_scripts = False  # its option `scripts` takes those of the library
    most_stages = 1  # processes that a load may be, one after the other; of several, `with_rate` makes more
    host_program = ""  # the name of its program where a host without a worker can run it; see `find_on`

    @abstractmethod
    def fields_for(self, purpose: str) -> tuple[Field, ...]:
        """Return the options of a load or a preparation (`benchmarks.models.Purpose`); empty where it has none."""

    @abstractmethod
    def validate(self, raw: Mapping[str, object], *, purpose: str) -> OptionsT:
        """Return the options to store, from the input of a form or an API client; raise `InvalidOptions`.

        `raw` has names of `fields_for(purpose)` only: `benchmarks.runs.submission.options` refuses others first.
        """

    def fitted(self, options: RunOptions) -> RunOptions:
        """Return a playbook's options of an arm without what this program would refuse of their combination."""
        return options

    @abstractmethod
    def find(self) -> Program:
        """Return the program on this host; raise `ProgramMissing` with the remedy."""

    def stages(self, options: OptionsT) -> list[OptionsT]:
        """Return the options of each process that a load is, one after the other; a constant load is one process."""
        return [options]

    def with_rate(self, options: OptionsT, number: int, lasted_s: int, rate: float | None) -> OptionsT:
        """Return the options of a load whose stage `number` (from 1) ended after so long, to go on at another rate.

        Only where `most_stages` allows it; None is a load without a rate.
        """
        raise NotImplementedError

    def find_on(self, machine: Machine) -> Program:
        """Return the program on the machine that the load runs on; raise `ProgramMissing` with the remedy."""
        if machine.is_here:
            return self.find()
        raise ProgramMissing(gettext("%(name)s runs on generators that are workers only") % {"name": self.name})

    @abstractmethod
    def build_command(
        self,
        options: OptionsT,
        *,
        purpose: str,
        binary: str,
        home: Path,
        endpoint: Endpoint,
        application_name: str,
        version: tuple[int, int],
    ) -> Command:
        """Build the command of a run in its private home; raise `Refused`."""

    @abstractmethod
    def preview(self, options: OptionsT, endpoint: Endpoint) -> str:
        """Return the command to show to people, without a password."""

    @abstractmethod
    def parse_line(self, text: str, options: OptionsT) -> ParsedLine:
        """Parse one line of `terms.stream` while the program runs; never raise."""

    @abstractmethod
    def read_output(self, stdout: str, stderr: str = "") -> Output:
        """Parse all that the program printed, for `benchmarks.analysis.validity` to judge; never raise."""

    @abstractmethod
    def tables_of(self, options: OptionsT, *, purpose: str) -> Tables | None:
        """Return the tables that a run loads or makes; None where it needs none."""

    def prepared_tables(self, options: OptionsT) -> Tables:
        """Return the tables that a preparation makes or drops; raise `BenchmarksError` where the engine has none."""
        tables = self.tables_of(options, purpose=Purpose.PREPARE)
        if tables is None:
            raise BenchmarksError(gettext("%(name)s prepares no dataset") % {"name": self.name})
        return tables

    def log_files(self, options: OptionsT) -> LogFiles | None:
        """Return the logs of single transactions that a run writes; None where it writes none."""
        return None

    def unsupported_options(self, options: OptionsT, version: tuple[int, int]) -> dict[str, list[str]]:
        """Return option → reasons for options that this version of the program does not have."""
        return {}

    def server_refuses(self, options: OptionsT, version: tuple[int, int], server: int) -> dict[str, list[str]]:
        """Return option → reasons for options that a server of this major version would refuse."""
        return {}

    def unshardable(self, options: OptionsT) -> dict[str, list[str]]:
        """Return option → reasons for options with which several generators can't share the load."""
        return {}

    def extra_connections(self, options: OptionsT) -> dict[str, int]:
        """Return option → the most connections that it lets the engine open beside those of its clients."""
        return {}

    def file_needed(self, options: OptionsT) -> tuple[str, str] | None:
        """Return (option, file name) of the file that a run needs on its generator's host; None where it needs none."""
        return None

    def host_files(self) -> dict[str, str] | None:
        """Return this host's files for runs → reason against each (empty: usable); None where runs need no files."""
        return None

    def drop_options(self, made: OptionsT) -> Mapping[str, object]:
        """Return the options of a preparation that drops what one with options `made` made; empty where it can't."""
        return {}

    def full_dataset_options(self, made: OptionsT) -> Mapping[str, object]:
        """Return run options that load the whole dataset prepared with `made`; empty where any run does."""
        return {}

    def script_labels(self, options: OptionsT) -> list[str]:
        """Return the names of the scripts that a load runs; none for an engine that runs none of the library."""
        return []

    def scripts_in_words(self, options: OptionsT) -> str:
        """Return these scripts with their weights; a text without a name appears as its beginning and a digest."""
        return ""

    def options_from_summary(self, summary: Summary) -> RunOptions:
        """Return the options that can be read from a printed summary."""
        return {}

    def run_services(self, context: RunContext) -> AbstractContextManager[None]:
        """Return a context that runs the engine's services beside a load; entering it raises `Refused`."""
        return nullcontext()
