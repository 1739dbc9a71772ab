"""Options of sysbench that a run may carry, and their validation."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field, OptionGroup
from benchmarks.engines.sysbench.binary import TPCC_SCRIPT
from benchmarks.engines.sysbench.typed_options import SysbenchOptions
from benchmarks.errors import InvalidOptions

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

LOAD, PREPARE = "load", "prepare"
TPCC, BULK, OLTP = "tpcc", "bulk_insert", "oltp"
SCRIPTS = (
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_insert",
    "oltp_delete",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
    BULK,
    TPCC,
)
READING = frozenset({"oltp_read_only", "oltp_point_select", "select_random_points", "select_random_ranges"})
FILL, DROP = "fill", "drop"
MOST_ROWS = 2_000_000_000


class _MoreOfNumber(TypedDict, total=False):
    default: int
    unit: str
    help: "StrOrPromise"
    group: OptionGroup
    purpose: str


def _number(name: str, flag: str, label: "StrOrPromise", most: int, **more: Unpack[_MoreOfNumber]) -> Field:
    return Field(name, flag, label, "int", minimum=1, maximum=most, **more)


_TABLES = _number("tables", "--tables", gettext_lazy("Tables"), 1_000, default=1)
_TABLE_SIZE = _number("table_size", "--table-size", gettext_lazy("Rows of a table"), MOST_ROWS, default=10_000)
_SCALE = _number(
    "scale", "--scale", gettext_lazy("Warehouses (tpcc)"), 10_000, help=_("For each set of tables; only for tpcc")
)

FIELDS = (
    Field(
        "script",
        "",
        gettext_lazy("Script"),
        "choice",
        default="oltp_read_only",
        choices=SCRIPTS,
        help=gettext_lazy(
            "Of sysbench's own; bulk_insert fills empty tables, one for each thread; tpcc comes from its own folder"
        ),
    ),
    _number(
        "threads",
        "--threads",
        gettext_lazy("Threads"),
        4_096,
        default=10,
        help=_("Each is one client with one connection"),
    ),
    _number(
        "duration",
        "--time",
        gettext_lazy("Duration"),
        86_400,
        default=30,
        unit="s",
        help=gettext_lazy("How long the load lasts; leave it empty to count events instead"),
    ),
    _TABLES,
    _TABLE_SIZE,
    _SCALE,
    _number(
        "events",
        "--events",
        gettext_lazy("Events"),
        MOST_ROWS,
        group=OptionGroup.PACE,
        help=_("Instead of a duration: transactions of all threads together"),
    ),
    _number(
        "rate",
        "--rate",
        gettext_lazy("Rate"),
        1_000_000,
        unit="transactions/s",
        group=OptionGroup.PACE,
        help=_("For all threads together"),
    ),
    Field(
        "rand_type",
        "--rand-type",
        gettext_lazy("Rows are drawn"),
        "choice",
        choices=("uniform", "gaussian", "special", "pareto"),
        group=OptionGroup.STATEMENTS,
        help=gettext_lazy("Empty: special, which draws 75 % of the rows out of 1 %"),
    ),
    Field(
        "db_ps_mode",
        "--db-ps-mode",
        gettext_lazy("Prepared statements"),
        "choice",
        default="disable",
        choices=("disable", "auto"),
        group=OptionGroup.STATEMENTS,
        help=gettext_lazy("auto prepares them; works directly on a server, or through a pool in session mode"),
    ),
    Field(
        "skip_trx",
        "--skip-trx",
        gettext_lazy("Without transactions"),
        "bool",
        default=False,
        group=OptionGroup.STATEMENTS,
        help=gettext_lazy("Send each statement alone instead of within BEGIN … COMMIT"),
    ),
    Field(
        "percentile",
        "--percentile",
        gettext_lazy("Percentile of each second"),
        "choice",
        default="95",
        choices=("50", "95", "99"),
        group=OptionGroup.REPORT,
        help=gettext_lazy("The latency shown in the chart; the summary has all three"),
    ),
    Field(
        "action",
        "",
        gettext_lazy("What to do"),
        "choice",
        default=FILL,
        choices=(FILL, DROP),
        purpose=PREPARE,
        help=gettext_lazy("fill recreates the tables, drop removes them"),
    ),
    Field(
        "kind",
        "",
        gettext_lazy("For"),
        "choice",
        default=OLTP,
        choices=(OLTP, BULK, TPCC),
        purpose=PREPARE,
        help=gettext_lazy(
            "oltp: all scripts of that name and select_random; bulk_insert: empty tables, as many as its threads; "
            "tpcc: in a database that holds nothing else"
        ),
    ),
    _number("tables", "--tables", gettext_lazy("Tables"), 1_000, default=1, purpose=PREPARE),
    _number("table_size", "--table-size", gettext_lazy("Rows of a table"), MOST_ROWS, default=10_000, purpose=PREPARE),
    _number(
        "scale",
        "--scale",
        gettext_lazy("Warehouses (tpcc)"),
        10_000,
        purpose=PREPARE,
        help=_("About 100 MB each; only for tpcc"),
    ),
    _number(
        "threads",
        "--threads",
        gettext_lazy("Threads"),
        64,
        default=1,
        purpose=PREPARE,
        help=_("Tables that are filled concurrently"),
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """Return the options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: Mapping[str, object], *, purpose: str = LOAD) -> SysbenchOptions:
    """Return all options of this purpose, typed and with defaults (None: not passed).

    Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw)
    filled = cast("SysbenchOptions", {name: options.get(name, field.default) for name, field in fields.items()})
    if options.get("events") and "duration" not in options:
        filled["duration"] = None
    for name, message in _contradictions(filled):
        errors.setdefault(name, []).append(message)
    if errors:
        raise InvalidOptions(errors)
    return filled


def unshardable(options: SysbenchOptions) -> dict[str, list[str]]:
    """Return why bulk_insert can't be shared: each process counts the keys of a thread's table from 1."""
    if options.get("script") != BULK:
        return {}
    return {
        "script": [_("%(bulk)s of several generators would insert the same keys: name one generator") % {"bulk": BULK}]
    }


def drop_options(made: SysbenchOptions) -> SysbenchOptions:
    """Return the options of a preparation that drops the tables that one with these options made."""
    dropped: SysbenchOptions = {"action": DROP}
    if made.get("kind"):
        dropped["kind"] = made["kind"]
    if made.get("tables"):
        dropped["tables"] = made["tables"]
    return dropped


def full_dataset_options(made: SysbenchOptions) -> SysbenchOptions:
    """Return the options of a run that loads all tables that a preparation with these options made."""
    if made.get("kind") == BULK:
        return {"script": BULK, "threads": made.get("tables")}
    if made.get("kind") == TPCC:
        return {"script": TPCC, "tables": made.get("tables"), "scale": made.get("scale")}
    return {"tables": made.get("tables"), "table_size": made.get("table_size")}


def is_tpcc(options: SysbenchOptions) -> bool:
    """Test whether the options are of tpcc's tables."""
    return TPCC in (options.get("script"), options.get("kind"))


def file_needed(options: SysbenchOptions) -> tuple[str, str] | None:
    """Return the option by which a run needs a file of its generator, and that file."""
    return ("script" if "script" in options else "kind", TPCC_SCRIPT) if is_tpcc(options) else None


def _contradictions(options: SysbenchOptions) -> Iterator[tuple[str, str]]:
    if options.get("events") and options.get("duration"):
        yield (
            "events",
            _("%(events)s events and a duration of %(duration)s s exclude each other: leave one empty")
            % {"events": options["events"], "duration": options["duration"]},
        )
    if options.get("scale") and not is_tpcc(options):
        yield "scale", _("warehouses are tpcc's: leave this out")
