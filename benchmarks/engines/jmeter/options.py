"""The options of a JMeter run, and the one place that checks them and its plan."""

from dataclasses import replace
from typing import Any

from benchmarks.engines import typed
from benchmarks.engines.contract import Field, Tables
from benchmarks.engines.http import addresses
from benchmarks.engines.jmeter import binary, plans
from benchmarks.errors import InvalidOptions, Refused

LOAD, PREPARE = "load", "prepare"

FIELDS = (
    Field(
        "plan",
        "-t",
        "Plan",
        "choice",
        help="Of the folder POOLDECK_JMETER_PLANS; its JDBC goes to ${__P(jdbc_url)} as ${__P(user)} with "
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
    if purpose != LOAD:
        return ()
    names = tuple(binary.plan_names())
    return tuple(replace(field, choices=names) if field.name == "plan" else field for field in FIELDS)


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options, typed and filled; the plan is read and checked. Raises `InvalidOptions` with every fault found."""
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = typed.read(fields.values(), raw)
    unknown = [name for name, value in raw.items() if name not in fields and typed.is_given(value)]
    errors |= {name: [f"{name!r} is not an option here; use {', '.join(fields) or 'none'}"] for name in unknown}
    if purpose != LOAD:
        errors |= {"purpose": ["JMeter prepares nothing: prepare with another engine"]}
    elif "plan" not in errors:
        errors |= _faults_of_plan(options.get("plan") or "")
    if errors:
        raise InvalidOptions(errors)
    return {name: options.get(name, field.default) for name, field in fields.items()}


def tables_of(options: dict[str, Any], *, purpose: str) -> Tables | None:
    """None: a plan uses what it names."""
    return None


def plan_of(name: str) -> plans.Plan:
    """A plan that may be run; raises ValueError."""
    if not name:
        raise ValueError(f"choose a plan: one of {', '.join(binary.plan_names()) or '(the folder is empty)'}")
    plan = plans.checked(binary.plan_text(name))
    for url in plan.urls:
        addresses.allowed(url)
    return plan


def plan_to_start(name: str) -> plans.Plan:
    """The same right before it is started; raises `Refused`."""
    try:
        return plan_of(name)
    except (ValueError, OSError) as error:
        raise Refused(f"plan {name} can't be run any more: {error}") from None


def _faults_of_plan(name: str) -> dict[str, list[str]]:
    try:
        plan_of(name)
    except (ValueError, OSError) as error:
        return {"plan": [str(error)]}
    return {}
