"""The options of pgbench that a run may carry: one catalogue for forms and API, and the one place that checks them.

Nothing typed is corrected silently: a value is taken as it stands, filled where it was left out, or refused.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.engines import typed
from benchmarks.engines.contract import Field
from benchmarks.errors import InvalidOptions

LOAD, PREPARE = "load", "prepare"
INITIALIZE_STEPS = "dtgGvpf"

FIELDS = (
    Field(
        "builtin",
        "-b",
        "Script",
        "choice",
        default="select-only",
        choices=("select-only", "simple-update", "tpcb-like"),
        help="select-only reads one row; simple-update and tpcb-like write, tpcb-like to rows that clients share",
    ),
    Field("clients", "-c", "Clients", "int", default=10, minimum=1, maximum=10_000, help="Sessions that work at once"),
    Field(
        "threads", "-j", "Threads", "int", default=2, minimum=1, maximum=256, help="Of pgbench itself; at most clients"
    ),
    Field(
        "duration",
        "-T",
        "Duration",
        "int",
        default=30,
        minimum=1,
        maximum=86_400,
        unit="s",
        help="How long the load lasts; leave it empty to count transactions instead",
    ),
    Field(
        "transactions",
        "-t",
        "Transactions per client",
        "int",
        minimum=1,
        maximum=1_000_000_000,
        help="In place of a duration",
    ),
    Field(
        "progress",
        "-P",
        "Progress every",
        "int",
        default=1,
        minimum=1,
        maximum=3_600,
        unit="s",
        help="One point of the chart each",
    ),
    Field(
        "connect",
        "-C",
        "A new connection for each transaction",
        "bool",
        default=False,
        group="Connections",
        help="Shows what connecting costs: the case that a pool serves best",
    ),
    Field(
        "protocol",
        "-M",
        "Protocol",
        "choice",
        default="simple",
        choices=("simple", "extended", "prepared"),
        group="Connections",
        help="prepared through a pool in transaction mode needs PgBouncer 1.21 with max_prepared_statements",
    ),
    Field(
        "rate",
        "-R",
        "Rate",
        "float",
        minimum=0.001,
        maximum=10_000_000,
        unit="transactions/s",
        group="Pace",
        help="Start transactions on a schedule; latency then counts from the scheduled start",
    ),
    Field(
        "latency_limit",
        "-L",
        "Latency limit",
        "float",
        minimum=0.001,
        maximum=86_400_000,
        unit="ms",
        group="Pace",
        help="Count what takes longer; with a rate, skip what is late by more",
    ),
    Field(
        "max_tries",
        "--max-tries",
        "Tries of a transaction",
        "int",
        minimum=0,
        maximum=1_000_000,
        group="Failures",
        since=15,
        help="After serialization failures and deadlocks; 0 tries until the latency limit or the end; empty: once",
    ),
    Field(
        "failures_detailed",
        "--failures-detailed",
        "Failures by kind",
        "bool",
        default=False,
        group="Failures",
        since=15,
        help="Serialization failures and deadlocks apart",
    ),
    Field(
        "report_per_command",
        "-r",
        "Latency of each statement",
        "bool",
        default=False,
        group="Report",
        help="Costs a little time for each statement: best in a run of its own",
    ),
    Field(
        "random_seed",
        "--random-seed",
        "Random seed",
        "int",
        minimum=0,
        maximum=2**53 - 1,
        group="Report",
        since=11,
        help="The same seed draws the same rows again",
    ),
    Field(
        "scale",
        "-s",
        "Scale",
        "int",
        default=10,
        minimum=1,
        maximum=99_999,
        group="Dataset",
        purpose=PREPARE,
        help="100,000 accounts and about 16 MB each; at least the number of clients for scripts that write",
    ),
    Field(
        "initialize_steps",
        "-I",
        "Steps",
        "steps",
        default="dtgvp",
        group="Dataset",
        purpose=PREPARE,
        since=11,
        help="d drop, t create tables, g generate here or G at the server, v vacuum, p primary keys, f foreign keys",
    ),
    Field(
        "fillfactor",
        "-F",
        "Fill factor",
        "int",
        minimum=10,
        maximum=100,
        unit="%",
        group="Dataset",
        purpose=PREPARE,
        help="Room left in the pages for updates; empty: 100",
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """The options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options of this purpose, typed and filled with defaults (None: not passed to pgbench).

    Numbers may come as text, as forms send them; an empty text or None counts as left out.
    Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = typed.read(fields.values(), raw, {"steps": _steps})
    unknown = (name for name, value in raw.items() if name not in fields and typed.is_given(value))
    errors |= {name: [_why_unknown(name, purpose)] for name in unknown}
    filled = _filled(options, fields) if not errors else options
    for name, message in _contradictions(filled):
        errors.setdefault(name, []).append(message)
    if errors:
        raise InvalidOptions(errors)
    return filled


def _filled(options: dict[str, Any], fields: dict[str, Field]) -> dict[str, Any]:
    filled: dict[str, Any] = {name: options.get(name, field.default) for name, field in fields.items()}
    if options.get("transactions") and "duration" not in options:
        filled["duration"] = None
    if "threads" in filled and "threads" not in options:
        filled["threads"] = min(filled["threads"], filled["clients"])
    return filled


def _contradictions(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    clients, threads = options.get("clients"), options.get("threads")
    if options.get("transactions") and options.get("duration"):
        yield (
            "transactions",
            f"{options['transactions']} transactions and a duration of {options['duration']} s exclude each other: "
            "leave one of them empty",
        )
    if clients and threads and threads > clients:
        yield "threads", f"{threads} threads are more than {clients} clients: use at most {clients}"
    if options.get("max_tries") == 0 and not options.get("duration") and not options.get("latency_limit"):
        yield "max_tries", "0 tries without end: set a duration or a latency limit, or a number of tries"


def _why_unknown(name: str, purpose: str) -> str:
    other = next((field for field in FIELDS if field.name == name), None)
    if other and other.purpose == PREPARE:
        return f"{name} is set when a dataset is prepared; a run uses the tables as they are: leave it out"
    if other:
        return f"{name} is an option of a run, not of preparing a dataset: leave it out"
    return f"{name!r} is not an option here; use {', '.join(field.name for field in fields_for(purpose))}"


def _steps(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not set(value) <= set(INITIALIZE_STEPS) or len(set(value)) != len(value):
        raise ValueError(f"{typed.shown(value)} are no steps: use letters of {INITIALIZE_STEPS}, each once")
    if "t" not in value or not {"g", "G"} & set(value) or {"g", "G"} <= set(value):
        raise ValueError(f"{typed.shown(value)} makes no dataset: t and one of g and G belong to it")
    return value
