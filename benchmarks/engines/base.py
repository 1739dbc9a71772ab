"""The contract of engines: options, samples, parsed lines, logs of transactions, and what they are given of a run."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from benchmarks.engines.binaries import Program
from benchmarks.errors import BenchmarksError
from benchmarks.models import Purpose, Run
from benchmarks.processes.command import Command
from pools.clusters.endpoints import Endpoint

Value = int | float | bool | str


@dataclass(frozen=True, slots=True)
class Field:
    """One option: its long name at the program (underscores for hyphens), how it is shown, and what it may be.

    `since` is the first major version that knows it; `default` None means "not passed".
    """

    name: str
    flag: str
    label: str
    kind: str  # int, float, bool, choice, text or one of the engine's own
    default: Value | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    help: str = ""
    group: str = "Load"
    purpose: str = "load"
    since: int = 9


@dataclass(frozen=True, slots=True)
class Progress:
    """One interval of a load; every count is of that interval, and None is what was not printed or was a NaN.

    `t` is in seconds since the load began (under pgbench's --progress-timestamp a Unix time).
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
    """A run about to start, as what is set up around its load sees it: where it logs in, and its private home."""

    @property
    def run(self) -> Run:
        """The run itself."""

    @property
    def endpoint(self) -> Endpoint:
        """Where its load logs in."""

    @property
    def home(self) -> Path:
        """Its private home, which the load program reads."""

    def report(self, words: str) -> None:
        """Tell watchers what is being done."""

    def note(self, name: str, found: Any) -> None:
        """Keep what was done or measured in the run's `conditions`."""

    def check(self) -> None:
        """Renew the lease; raises where the run must end. To be called every 0.4 s by what takes its time."""


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """What one line says while the program runs: a sample, or how far a preparation is (0 to 100), or neither.

    `late_s` is how long before the line the sample's interval ended; `worth_reporting` is whether people should read it
    among the messages.
    """

    sample: Progress | None = None
    late_s: float = 0.0
    percent: float | None = None
    worth_reporting: bool = True


@dataclass(frozen=True, slots=True)
class ProgramTerms:
    """The words for a program in sentences about its runs, and when and where it prints its progress."""

    program: str | Promise
    unit: str | Promise = _("transaction")
    units: str | Promise = _("transactions")
    workers: str | Promise = _("clients")
    interval: str | Promise = _("progress line")
    interval_lines: str | Promise = _("progress lines")
    busier: str | Promise = _("use more threads")  # the remedy where the program itself was the bottleneck
    service: str | Promise = ""  # the service that an engine runs beside its load
    stream: str = "stderr"  # the stream that carries its progress lines
    starts_within_s: float = 0.0  # before its load begins, on a busy host
    slow_start_s: float = 0.0  # of the load's own duration, before its first request
    silent_end: str | Promise = ""  # the likely cause where a signal ended it without a message


@dataclass(frozen=True, slots=True)
class Output:
    """All that one execution said, whatever the program; an engine may add to it.

    `summary` has the keys of the API's contract and more of the same kind (`clients threads duration_s
    transactions_expected retries skipped lag_avg_ms …`); a key is absent where nothing was printed and None where a
    NaN was. A statement is `{script, latency_ms, failures, retries, statement}`; of `scripts`, where there were
    several, each has the summary's keys beside its `name weight target_percent percent`.
    """

    terms: ProgramTerms
    summary: dict[str, Any] = field(default_factory=dict)
    scripts: list[dict[str, Any]] = field(default_factory=list)
    statements: list[dict[str, Any]] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    client_version: str = ""
    server_version: str = ""  # empty where it was not printed
    run_aborted: bool = False
    aborted_clients: frozenset[int] = frozenset()
    errors: list[str] = field(default_factory=list)
    prepared: bool = False  # a dataset that was to be made is whole
    prepared_rows: int | None = None
    recognised: int = 0  # lines that are this program's beyond doubt
    executions: int = 0  # more than one: the text holds several
    latencies: list[tuple[float, int]] = field(default_factory=list)  # (ms, how many), where it printed a histogram

    @property
    def has_summary(self) -> bool:
        """Whether the program came to its end and printed what it did."""
        return "transactions" in self.summary

    @property
    def aborted(self) -> bool:
        """Whether any client gave up, or the run says that it was aborted."""
        return self.run_aborted or bool(self.aborted_clients)

    @property
    def samples(self) -> list[Progress]:
        """The progress with `t` in seconds since the load began."""
        return self.progress

    @property
    def began_s(self) -> float | None:
        """When the load began as a Unix time, where the progress carries such."""
        return None

    @property
    def server_number(self) -> str:
        """`15.18` of the server; empty where nothing tells."""
        return self.server_version.partition(" ")[0]

    @property
    def is_preparation(self) -> bool:
        """Whether it made a dataset instead of a load."""
        return False


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a load uses or a preparation makes, and how they are spoken of.

    `size_query` reads table `counted` and tells how large they are (nothing or 0: no rows) in what `sized` names,
    `rows_each` rows for each 1; `size` is what the options ask for: made by a preparation, needed by a load.
    """

    engine: str
    names: tuple[str, ...]
    called: str  # "the pgbench tables"
    marked: str  # the one that carries the panel's comment
    counted: str
    size_query: str
    size: int
    rows_each: int = 1
    sized: str = "scale {:,}"
    takes_bytes: int = 0
    tablespaces: tuple[str, ...] = ()  # where they are made; empty: the database's own
    writes: str = ""  # what writes to them; empty: they are only read
    sparing: str = ""  # what to choose instead, so that nothing is written
    needed_empty: bool = False  # a load begins with no rows in them
    dropped: bool = False  # this preparation removes them
    alone: bool = False  # the preparation works only in a database that holds no table, not even these
    contended_below: int = 0  # the size below which the clients of this load wait for each other's rows

    @property
    def rows(self) -> int:
        """As many as `size` comes to."""
        return self.rows_each * self.size

    def of_size(self, size: int | None) -> str:
        """How large they are, in words."""
        return self.sized.format(size or 0)


class Logged(NamedTuple):
    """One transaction that ended at `at_us` (Unix time in microseconds).

    Under a rate its latency counts from the scheduled start, of which `lag_us` went by before it began.
    """

    at_us: int
    latency_us: int
    lag_us: int = 0


class LogReader(Protocol):
    """Reads one log file as it grows."""

    def feed(self, chunk: bytes) -> list[Logged]:
        """The transactions whose lines this chunk completes; never raises."""


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The logs that a program writes into its private home: their names as a pattern, a reader for each."""

    pattern: str
    reader: Callable[[], LogReader]
    scheduled: bool = False  # whether the lines tell how late a transaction began
    sampling_rate: float = 1.0  # the share of the transactions that is logged
    statements: float = 1.0  # of a transaction on average, at least: each is a round trip


class Engine(ABC):
    """A load program that runs can use: the one contract between engines and the rest of the panel.

    An engine is a folder beside this module with a subclass in it, and a line in `benchmarks.engines.ENGINES`. What is
    not abstract has a default for the engines that it does not concern. `options` are always the validated options of
    a run; a mapping "option → messages" names why an option can't be had, and is empty where all can.
    """

    name: str
    terms: ProgramTerms
    imports_output = False  # whether a printed output can be imported as a run: then `options_from_summary` is needed

    @abstractmethod
    def fields_for(self, purpose: str) -> tuple[Field, ...]:
        """The options of a load or a preparation (`benchmarks.models.Purpose`); empty where it has no such purpose."""

    @abstractmethod
    def validate(self, raw: dict[str, Any], *, purpose: str) -> dict[str, Any]:
        """The options as they are kept, from what a form or a client gave; raises `InvalidOptions`."""

    @abstractmethod
    def find(self) -> Program:
        """The program on this host; raises `ProgramMissing` with the remedy."""

    @abstractmethod
    def build_command(
        self,
        options: dict[str, Any],
        *,
        purpose: str,
        binary: str,
        home: Path,
        endpoint: Endpoint,
        application_name: str,
        version: tuple[int, int],
    ) -> Command:
        """The command of a run in its private home; raises `Refused`."""

    @abstractmethod
    def preview(self, options: dict[str, Any], endpoint: Endpoint) -> str:
        """The command as people are shown it, with no password in it."""

    @abstractmethod
    def parse_line(self, text: str, options: dict[str, Any]) -> ParsedLine:
        """What one line of `terms.stream` says while the program runs; never raises."""

    @abstractmethod
    def read_output(self, stdout: str, stderr: str = "") -> Output:
        """All that the program printed; never raises. `benchmarks.analysis.validity` judges by it."""

    @abstractmethod
    def tables_of(self, options: dict[str, Any], *, purpose: str) -> Tables | None:
        """The tables that a run loads or makes; None where it needs none."""

    def prepared_tables(self, options: dict[str, Any]) -> Tables:
        """The tables that a preparation with these options makes or drops; raises `BenchmarksError` for a load's."""
        tables = self.tables_of(options, purpose=Purpose.PREPARE)
        if tables is None:
            raise BenchmarksError(f"{self.name} prepares no dataset")
        return tables

    def log_files(self, options: dict[str, Any]) -> LogFiles | None:
        """The logs of single transactions that a run writes; None where it writes none."""
        return None

    def unsupported_options(self, options: dict[str, Any], version: tuple[int, int]) -> dict[str, list[str]]:
        """Option → why this version of the program lacks it."""
        return {}

    def server_refuses(self, options: dict[str, Any], version: tuple[int, int], server: int) -> dict[str, list[str]]:
        """Option → why a server of this major version would not take what this version of the program makes."""
        return {}

    def unshardable(self, options: dict[str, Any]) -> dict[str, list[str]]:
        """Option → why several generators can't share this load."""
        return {}

    def extra_connections(self, options: dict[str, Any]) -> dict[str, int]:
        """Option → the connections, bounded by it, that the engine keeps open beside those of its clients."""
        return {}

    def file_needed(self, options: dict[str, Any]) -> tuple[str, str] | None:
        """The option and the name of the file of its generator's host that a run needs; None where it needs none."""
        return None

    def host_files(self) -> dict[str, str] | None:
        """Files of this host that runs may name → why they can't be used (empty: they can); None: they name none."""
        return None

    def drop_options(self, made: dict[str, Any]) -> dict[str, Any]:
        """The options of a preparation that removes what one with the options `made` made; empty where it can't."""
        return {}

    def full_dataset_options(self, made: dict[str, Any]) -> dict[str, Any]:
        """The options of a run that loads all that a preparation with these made; empty where any run does."""
        return {}

    def options_from_summary(self, summary: dict[str, Any]) -> dict[str, Any]:
        """The options that a printed summary tells of the command behind it."""
        return {}

    def run_services(self, context: RunContext) -> AbstractContextManager[None]:
        """What the engine runs beside a load, as long as that is on; raises `Refused`."""
        return nullcontext()
