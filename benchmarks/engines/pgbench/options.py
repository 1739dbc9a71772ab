"""Validation of pgbench's options; pure.

Nothing is corrected silently: a value is taken as it is, set to its default where it was left out, or refused.
"""

from collections.abc import Iterator, Mapping
from typing import cast

from django.utils.translation import gettext as _

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.pgbench import scripts, stages, variables
from benchmarks.engines.pgbench.option_catalog import DROP_STEP, FIELDS, INITIALIZE_STEPS, LOAD
from benchmarks.engines.pgbench.typed_options import PgbenchOptions
from benchmarks.errors import InvalidOptions
from benchmarks.models.options import RunOptions

IDENTIFIER_BYTES = 63  # NAMEDATALEN - 1
# PostgreSQL 18's release notes; until 17 pgbench makes the partitioned table unlogged too, from 18 its partitions alone
REFUSES_UNLOGGED_PARTITIONED = SPARES_UNLOGGED_PARTITIONED = 18


def fields_for(purpose: str) -> tuple[Field, ...]:
    """Return the options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: Mapping[str, object], *, purpose: str = LOAD) -> PgbenchOptions:
    """Return all options of this purpose, typed and with defaults (None: not passed to pgbench).

    Numbers may be text, as forms send them; an empty text or None counts as left out. Raises `InvalidOptions` with
    every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, _READERS)
    filled = _filled(options, fields) if not errors else cast("PgbenchOptions", options)
    for name, message in (*stages.contradictions(options), *_contradictions(filled)):
        errors.setdefault(name, []).append(message)
    if errors:
        raise InvalidOptions(errors)
    return filled


def _filled(options: Mapping[str, object], fields: dict[str, Field]) -> PgbenchOptions:
    filled = cast("PgbenchOptions", {name: options.get(name, field.default) for name, field in fields.items()})
    if options.get("transactions") and "duration" not in options:
        filled["duration"] = None
    if options.get("scripts") and "builtin" not in options:
        filled["builtin"] = None
    if asked := filled.get("stages"):
        filled["clients"], filled["duration"] = stages.most_clients(asked), stages.duration_of(asked)
    else:
        filled.pop("stages", None)  # a constant load's options are the same as before there were stages
    clients, threads = filled.get("clients"), filled.get("threads")
    if clients and threads and "threads" not in options:
        filled["threads"] = min(threads, clients)
    return filled


def _contradictions(options: PgbenchOptions) -> Iterator[tuple[str, str]]:
    clients, threads = options.get("clients"), options.get("threads")
    if options.get("transactions") and options.get("duration"):
        yield (
            "transactions",
            _(
                "%(transactions)s transactions and a duration of %(duration)s s exclude each other: leave one of "
                "them empty"
            )
            % {"transactions": options["transactions"], "duration": options["duration"]},
        )
    if clients and threads and threads > clients:
        yield (
            "threads",
            _("%(threads)s threads are more than %(clients)s clients: use at most %(clients)s")
            % {"threads": threads, "clients": clients},
        )
    if options.get("max_tries") == 0 and not options.get("duration") and not options.get("latency_limit"):
        yield "max_tries", _("0 tries without end: set a duration or a latency limit, or a number of tries")
    if options.get("sampling_rate") and not options.get("percentiles"):
        yield "sampling_rate", _("nothing is logged without percentiles: ask for them, or leave the share empty")
    if options.get("partition_method") and not options.get("partitions"):
        yield "partition_method", _("there are no partitions: set their number, or leave the method empty")
    yield from scripts.contradictions(options)
    yield from variables.contradictions(options)


def unsupported_options(options: PgbenchOptions, version: tuple[int, int]) -> dict[str, list[str]]:
    """Return option → reasons for options that this version does not have; empty where it has all of them."""
    errors = {
        field.name: [
            _("%(flag)s needs pgbench %(since)s or newer; this one is %(version)s")
            % {"flag": field.flag or field.name, "since": field.since, "version": f"{version[0]}.{version[1]}"}
        ]
        for field, _value in passed(options)
        if field.since > version[0]
    }
    if "G" in (options.get("initialize_steps") or "") and "initialize_steps" not in errors and version[0] < 13:
        text = _("step G needs pgbench 13 or newer; this one is %(version)s: use g")
        errors["initialize_steps"] = [text % {"version": f"{version[0]}.{version[1]}"}]
    if refused := scripts.refusals(options, version[0]):
        errors["scripts"] = refused
    return errors


def server_refuses(options: PgbenchOptions, version: tuple[int, int], server: int) -> dict[str, list[str]]:
    """Return option → reasons for what a server of this major version would refuse.

    pgbench would find out only after it has dropped the existing tables (tried with 15.18 and 16.14 on 18.4).
    """
    both = options.get("unlogged_tables") and options.get("partitions")
    if not both or server < REFUSES_UNLOGGED_PARTITIONED or version[0] >= SPARES_UNLOGGED_PARTITIONED:
        return {}
    reason = _(
        "unlogged tables and %(partitions)s partitions exclude each other: PostgreSQL %(server)s has no "
        "unlogged partitioned tables, for which pgbench %(version)s asks; leave one of the two out, or use "
        "pgbench %(newer)s or newer"
    ) % {
        "partitions": f"{options['partitions']:,}",
        "server": server,
        "version": f"{version[0]}.{version[1]}",
        "newer": SPARES_UNLOGGED_PARTITIONED,
    }
    return {"unlogged_tables": [reason]}


def fitted(options: RunOptions) -> RunOptions:
    """Return the options with no more threads than clients: pgbench refuses more."""
    clients, threads = options.get("clients"), options.get("threads")
    if not clients or not isinstance(clients, int) or not isinstance(threads, int):
        return options
    return {**options, "threads": min(threads, clients)}


def passed(options: Mapping[str, object]) -> Iterator[tuple[Field, object]]:
    """Yield the options that need a word; the usual steps are passed without -I, which 10 and older don't have."""
    for field in FIELDS:
        value = options.get(field.name)
        usual_steps = field.kind == "steps" and value == field.default
        if value is not None and value is not False and not usual_steps:
            yield field, value


def _steps(field: Field, value: object) -> str:
    if not isinstance(value, str) or not set(value) <= set(INITIALIZE_STEPS) or len(set(value)) != len(value):
        raise ValueError(
            _("%(value)s is not a list of steps: use letters of %(steps)s, each once")
            % {"value": option_parsing.quoted(value), "steps": INITIALIZE_STEPS}
        )
    if value == DROP_STEP:
        return value
    if "t" not in value or not {"g", "G"} & set(value) or {"g", "G"} <= set(value):
        raise ValueError(
            _("%(value)s makes no dataset: include t and either g or G, or use d alone to drop one")
            % {"value": option_parsing.quoted(value)}
        )
    return value


def _identifier(_field: Field, value: object) -> str:
    """Return a name of an object on the server; pgbench quotes it."""
    if (
        not isinstance(value, str)
        or not value.isprintable()
        or len(value.encode("utf-8", "replace")) > IDENTIFIER_BYTES
    ):
        raise ValueError(
            _("%(value)s is not a name: use at most %(most)s printable bytes")
            % {"value": option_parsing.quoted(value), "most": IDENTIFIER_BYTES}
        )
    return str(value)


def drop_options(made: PgbenchOptions) -> PgbenchOptions:
    """Return the options of a preparation that drops the tables, whatever their scale."""
    return {"initialize_steps": DROP_STEP}


_READERS: dict[str, option_parsing.Reader] = {
    "steps": _steps,
    "identifier": _identifier,
    "builtins": scripts.read_builtins,
    "scripts": scripts.read_scripts,
    "variables": variables.read_variables,
    "stages": stages.read_stages,
}
