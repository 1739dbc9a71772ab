"""The one place that checks the options of pgbench; pure.

Nothing typed is corrected silently: a value is taken as it stands, filled where it was left out, or refused.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.pgbench import scripts, variables
from benchmarks.engines.pgbench.option_catalog import DROP_STEP, FIELDS, INITIALIZE_STEPS, LOAD, PREPARE
from benchmarks.errors import InvalidOptions

IDENTIFIER_BYTES = 63  # NAMEDATALEN - 1
# PostgreSQL 18's release notes; until 17 pgbench makes the partitioned table unlogged too, from 18 its partitions alone
REFUSES_UNLOGGED_PARTITIONED = SPARES_UNLOGGED_PARTITIONED = 18


def fields_for(purpose: str) -> tuple[Field, ...]:
    """The options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options of this purpose, typed and filled with defaults (None: not passed to pgbench).

    Numbers may come as text, as forms send them; an empty text or None counts as left out.
    Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, _READERS)
    unknown = (name for name, value in raw.items() if name not in fields and option_parsing.is_given(value))
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
    if options.get("scripts") and "builtin" not in options:
        filled["builtin"] = None
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
    if options.get("sampling_rate") and not options.get("percentiles"):
        yield "sampling_rate", "nothing is logged without percentiles: ask for them, or leave the share empty"
    if options.get("partition_method") and not options.get("partitions"):
        yield "partition_method", "there are no partitions: set their number, or leave the method empty"
    yield from scripts.contradictions(options)
    yield from variables.contradictions(options)


def unsupported_options(options: dict[str, Any], version: tuple[int, int]) -> dict[str, list[str]]:
    """Why this version can't do some of the options, by name; empty where it knows all of them."""
    errors = {
        field.name: [f"{field.flag} needs pgbench {field.since} or newer; this one is {version[0]}.{version[1]}"]
        for field, _ in passed(options)
        if field.since > version[0]
    }
    if "G" in (options.get("initialize_steps") or "") and "initialize_steps" not in errors and version[0] < 13:
        reason = f"step G needs pgbench 13 or newer; this one is {version[0]}.{version[1]}: use g"
        errors["initialize_steps"] = [reason]
    if refused := scripts.refused_by(options, version[0]):
        errors["scripts"] = refused
    return errors


def server_refuses(options: dict[str, Any], version: tuple[int, int], server: int) -> dict[str, list[str]]:
    """Why a server of this major version would not take what this pgbench makes, by option.

    pgbench would hear of it only when it has dropped the tables that were there (ran with 15.18 and 16.14 on 18.4).
    """
    both = options.get("unlogged_tables") and options.get("partitions")
    if not both or server < REFUSES_UNLOGGED_PARTITIONED or version[0] >= SPARES_UNLOGGED_PARTITIONED:
        return {}
    reason = (
        f"unlogged tables and {options['partitions']:,} partitions exclude each other: PostgreSQL {server} has no "
        f"unlogged partitioned tables, for which pgbench {version[0]}.{version[1]} asks; leave one of the two out, or "
        f"use pgbench {SPARES_UNLOGGED_PARTITIONED} or newer"
    )
    return {"unlogged_tables": [reason]}


def passed(options: dict[str, Any]) -> Iterator[tuple[Field, Any]]:
    """The options that need a word; the usual steps go without -I, which 10 and older don't know."""
    for field in FIELDS:
        value = options.get(field.name)
        usual_steps = field.kind == "steps" and value == field.default
        if value is not None and value is not False and not usual_steps:
            yield field, value


def _why_unknown(name: str, purpose: str) -> str:
    other = next((field for field in FIELDS if field.name == name), None)
    if other and other.purpose == PREPARE:
        return f"{name} is set when a dataset is prepared; a run uses the tables as they are: leave it out"
    if other:
        return f"{name} is an option of a run, not of preparing a dataset: leave it out"
    return f"{name!r} is not an option here; use {', '.join(field.name for field in fields_for(purpose))}"


def _steps(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not set(value) <= set(INITIALIZE_STEPS) or len(set(value)) != len(value):
        raise ValueError(f"{option_parsing.shown(value)} are no steps: use letters of {INITIALIZE_STEPS}, each once")
    if value == DROP_STEP:
        return value
    if "t" not in value or not {"g", "G"} & set(value) or {"g", "G"} <= set(value):
        raise ValueError(
            f"{option_parsing.shown(value)} makes no dataset: t and one of g and G belong to it, and d alone drops one"
        )
    return value


def _identifier(_field: Field, value: Any) -> str:
    """A name that the server holds; pgbench quotes it."""
    if (
        not isinstance(value, str)
        or not value.isprintable()
        or len(value.encode("utf-8", "replace")) > IDENTIFIER_BYTES
    ):
        raise ValueError(
            f"{option_parsing.shown(value)} is no name: use at most {IDENTIFIER_BYTES} bytes that can be printed"
        )
    return str(value)


def drop_options(made: dict[str, Any]) -> dict[str, Any]:
    """The options of a preparation that removes the tables, whatever their scale is."""
    return {"initialize_steps": DROP_STEP}


_READERS: dict[str, option_parsing.Reader] = {
    "steps": _steps,
    "identifier": _identifier,
    "builtins": scripts.read_builtins,
    "scripts": scripts.read_scripts,
    "variables": variables.read_variables,
}
