"""The options of a JMeter run, and the one place that checks them and its plan."""

import re
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field, Tables
from benchmarks.engines.http import addresses
from benchmarks.engines.jmeter import binary, plans
from benchmarks.errors import InvalidOptions, Refused

LOAD, PREPARE = "load", "prepare"
PLAN = "host_file"  # the kind of an option that names a file of the generator
MOST_PLANS = 200  # that a generator tells of
_NAME = re.compile(r"[^/\x00]{1,196}\.jmx")

FIELDS = (
    Field(
        "plan",
        "-t",
        "Plan",
        PLAN,
        help="Of the generator's folder POOLDECK_JMETER_PLANS; its JDBC goes to ${__P(jdbc_url)} as ${__P(user)} with "
        "${__P(password)}, its HTTP to hosts of POOLDECK_HTTP_ALLOW",
    ),
    Field(
        "clients",
        "-Jclients",
        "Threads",
        "int",
        default=10,
        minimum=1,
        maximum=2_000,
        help="The property clients: the plan's number of threads should be ${__P(clients,10)}",
    ),
    Field(
        "duration",
        "-Jduration",
        "Duration",
        "int",
        default=30,
        minimum=1,
        maximum=86_400,
        unit="s",
        help="The property duration: the plan's should be ${__P(duration,30)}",
    ),
    Field(
        "memory_mb",
        "-Xmx",
        "Memory of Java",
        "int",
        default=512,
        minimum=64,
        maximum=65_536,
        unit="MB",
        group="Report",
        help="The most that its heap may take",
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """The options that a run may carry; a preparation is none of JMeter's."""
    return FIELDS if purpose == LOAD else ()


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options, typed and filled; raises `InvalidOptions` with every fault found.

    Whether there is such a plan, and what it does, is for the generator to say that will run it.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, {PLAN: _plan_name})
    unknown = [name for name, value in raw.items() if name not in fields and option_parsing.is_given(value)]
    errors |= {name: [f"{name!r} is not an option here; use {', '.join(fields) or 'none'}"] for name in unknown}
    if purpose != LOAD:
        errors |= {"purpose": ["JMeter prepares nothing: prepare with another engine"]}
    elif "plan" not in options and "plan" not in errors:
        errors |= {"plan": ["choose a plan: one that a generator has in its POOLDECK_JMETER_PLANS"]}
    if errors:
        raise InvalidOptions(errors)
    return {name: options.get(name, field.default) for name, field in fields.items()}


def tables_of(options: dict[str, Any], *, purpose: str) -> Tables | None:
    """None: a plan uses what it names."""
    return None


def file_needed(options: dict[str, Any]) -> tuple[str, str] | None:
    """The option by which a run needs a file of its generator, and that file."""
    return ("plan", options["plan"]) if options.get("plan") else None


def host_files() -> dict[str, str]:
    """The plans of this host, and why each can't be run (empty: it can)."""
    return {name: _fault_of(name) for name in binary.plan_names()[:MOST_PLANS]}


def plan_of(name: str) -> plans.Plan:
    """A plan of this host that may be run; raises ValueError."""
    plan = plans.checked(binary.plan_text(name))
    for url in plan.urls:
        addresses.allowed(url)
    return plan


def plan_to_start(name: str) -> plans.Plan:
    """The same right before it is started; raises `Refused`."""
    try:
        return plan_of(name)
    except (ValueError, OSError) as error:
        raise Refused(f"plan {name} can't be run on this generator: {error}") from None


def _fault_of(name: str) -> str:
    try:
        plan_of(name)
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _plan_name(field: Field, value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            f"{option_parsing.shown(value)} is no name of a plan: use that of a .jmx file, without a folder"
        )
    return value
