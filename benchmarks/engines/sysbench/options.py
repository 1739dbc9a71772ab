"""The options of sysbench that a run may carry, and the one place that checks them."""

from collections.abc import Iterator
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.sysbench.binary import TPCC_SCRIPT
from benchmarks.errors import InvalidOptions

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


def _number(name: str, flag: str, label: str, most: int, **more: Any) -> Field:
    return Field(name, flag, label, "int", minimum=more.pop("minimum", 1), maximum=most, **more)


_TABLES = _number("tables", "--tables", "Tables", 1_000, default=1)
_TABLE_SIZE = _number("table_size", "--table-size", "Rows of a table", MOST_ROWS, default=10_000)
_SCALE = _number("scale", "--scale", "Warehouses (tpcc)", 10_000, help="Of each set of tables; only for tpcc")

FIELDS = (
    Field(
        "script",
        "",
        "Script",
        "choice",
        default="oltp_read_only",
        choices=SCRIPTS,
        help="Of sysbench's own; bulk_insert fills empty tables, one for each thread; tpcc comes from its own folder",
    ),
    _number("threads", "--threads", "Threads", 4_096, default=10, help="Each is one client with one connection"),
    _number(
        "duration",
        "--time",
        "Duration",
        86_400,
        default=30,
        unit="s",
        help="How long the load lasts; leave it empty to count events instead",
    ),
    _TABLES,
    _TABLE_SIZE,
    _SCALE,
    _number(
        "events", "--events", "Events", MOST_ROWS, group="Pace", help="In place of a duration: transactions of all"
    ),
    _number("rate", "--rate", "Rate", 1_000_000, unit="transactions/s", group="Pace", help="Of all threads together"),
    Field(
        "rand_type",
        "--rand-type",
        "Rows are drawn",
        "choice",
        choices=("uniform", "gaussian", "special", "pareto"),
        group="Statements",
        help="Empty: special, which draws 75 % of the rows out of 1 %",
    ),
    Field(
        "db_ps_mode",
        "--db-ps-mode",
        "Prepared statements",
        "choice",
        default="disable",
        choices=("disable", "auto"),
        group="Statements",
        help="auto prepares them: straight to a server, or through a pool in session mode",
    ),
    Field(
        "skip_trx",
        "--skip-trx",
        "Without transactions",
        "bool",
        default=False,
        group="Statements",
        help="Each statement by itself instead of BEGIN … COMMIT around them",
    ),
    Field(
        "percentile",
        "--percentile",
        "Percentile of each second",
        "choice",
        default="95",
        choices=("50", "95", "99"),
        group="Report",
        help="What the chart shows of the latency; the summary has all three",
    ),
    Field(
        "action",
        "",
        "What to do",
        "choice",
        default=FILL,
        choices=(FILL, DROP),
        purpose=PREPARE,
        help="fill makes the tables anew, drop removes them",
    ),
    Field(
        "kind",
        "",
        "For",
        "choice",
        default=OLTP,
        choices=(OLTP, BULK, TPCC),
        purpose=PREPARE,
        help="oltp: all scripts of that name and select_random; bulk_insert: empty tables, as many as its threads; "
        "tpcc: in a database that holds nothing else",
    ),
    _number("tables", "--tables", "Tables", 1_000, default=1, purpose=PREPARE),
    _number("table_size", "--table-size", "Rows of a table", MOST_ROWS, default=10_000, purpose=PREPARE),
    _number("scale", "--scale", "Warehouses (tpcc)", 10_000, purpose=PREPARE, help="About 100 MB each; only for tpcc"),
    _number("threads", "--threads", "Threads", 64, default=1, purpose=PREPARE, help="Tables that are filled at once"),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """The options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options of this purpose, typed and filled with defaults (None: not passed).

    Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw)
    unknown = [name for name, value in raw.items() if name not in fields and option_parsing.is_given(value)]
    errors |= {name: [f"{name!r} is not an option here; use {', '.join(fields)}"] for name in unknown}
    filled = {name: options.get(name, field.default) for name, field in fields.items()}
    if options.get("events") and "duration" not in options:
        filled["duration"] = None
    for name, message in _contradictions(filled):
        errors.setdefault(name, []).append(message)
    if errors:
        raise InvalidOptions(errors)
    return filled


def unshardable(options: dict[str, Any]) -> dict[str, list[str]]:
    """Each thread of bulk_insert counts its keys from 1 in the table of its number, as do those of other processes."""
    if options.get("script") != BULK:
        return {}
    return {"script": [f"{BULK} of several generators would insert the same keys: name one generator"]}


def drop_options(made: dict[str, Any]) -> dict[str, Any]:
    """The options of a preparation that removes the tables that one with these options made."""
    return {name: made[name] for name in ("kind", "tables") if made.get(name)} | {"action": DROP}


def full_dataset_options(made: dict[str, Any]) -> dict[str, Any]:
    """The options of a run that loads all of the tables that a preparation with these options made."""
    if made.get("kind") == BULK:
        return {"script": BULK, "threads": made.get("tables")}
    if made.get("kind") == TPCC:
        return {"script": TPCC, "tables": made.get("tables"), "scale": made.get("scale")}
    return {name: made.get(name) for name in ("tables", "table_size")}


def is_tpcc(options: dict[str, Any]) -> bool:
    """Whether it works on tpcc's tables."""
    return TPCC in (options.get("script"), options.get("kind"))


def file_needed(options: dict[str, Any]) -> tuple[str, str] | None:
    """The option by which a run needs a file of its generator, and that file."""
    return ("script" if "script" in options else "kind", TPCC_SCRIPT) if is_tpcc(options) else None


def _contradictions(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if options.get("events") and options.get("duration"):
        yield (
            "events",
            f"{options['events']} events and a duration of {options['duration']} s exclude each other: leave one empty",
        )
    if options.get("scale") and not is_tpcc(options):
        yield "scale", "warehouses are tpcc's: leave this out"
