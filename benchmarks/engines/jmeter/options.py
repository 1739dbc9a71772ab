"""Options of a JMeter run, and the validation of options and plan."""

import re
from collections.abc import Mapping
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines import http_addresses, option_parsing
from benchmarks.engines.base import Field, OptionGroup, Tables
from benchmarks.engines.jmeter import binary, plans
from benchmarks.engines.jmeter.typed_options import JMeterOptions
from benchmarks.errors import InvalidOptions, Refused

LOAD, PREPARE = "load", "prepare"
PLAN = "host_file"  # the kind of an option that names a file of the generator
MOST_PLANS = 200  # plans that a generator reports
_NAME = re.compile(r"[^/\x00]{1,196}\.jmx")
KIND_SCHEMAS = {PLAN: {"type": "string", "pattern": f"^{_NAME.pattern}$"}}

FIELDS = (
    Field(
        "plan",
        "-t",
        gettext_lazy("Plan"),
        PLAN,
        help=gettext_lazy(
            "Of the generator's folder POOLDECK_JMETER_PLANS; its JDBC goes to ${__P(jdbc_url)} as ${__P(user)} with "
            "${__P(password)}, its HTTP to hosts of POOLDECK_HTTP_ALLOW"
        ),
    ),
    Field(
        "clients",
        "-Jclients",
        gettext_lazy("Threads"),
        "int",
        default=10,
        minimum=1,
        maximum=2_000,
        help=gettext_lazy("The property clients: the plan's number of threads should be ${__P(clients,10)}"),
    ),
    Field(
        "duration",
        "-Jduration",
        gettext_lazy("Duration"),
        "int",
        default=30,
        minimum=1,
        maximum=86_400,
        unit="s",
        help=gettext_lazy("The property duration: the plan's should be ${__P(duration,30)}"),
    ),
    Field(
        "memory_mb",
        "-Xmx",
        gettext_lazy("Memory of Java"),
        "int",
        default=512,
        minimum=64,
        maximum=65_536,
        unit="MB",
        group=OptionGroup.REPORT,
        help=gettext_lazy("Maximum size of its heap"),
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """Return the options that a run may carry; JMeter prepares no datasets."""
    return FIELDS if purpose == LOAD else ()


def validate(raw: Mapping[str, object], *, purpose: str = LOAD) -> JMeterOptions:
    """Return all options, typed and with defaults; raise `InvalidOptions` with every fault found.

    The generator that runs the plan checks that it exists and what it does.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, {PLAN: _plan_name})
    if purpose != LOAD:
        errors |= {"purpose": [_("JMeter prepares nothing: prepare with another engine")]}
    elif "plan" not in options and "plan" not in errors:
        errors |= {"plan": [_("choose a plan: one that a generator has in its POOLDECK_JMETER_PLANS")]}
    if errors:
        raise InvalidOptions(errors)
    return cast("JMeterOptions", {name: options.get(name, field.default) for name, field in fields.items()})


def tables_of(options: JMeterOptions, *, purpose: str) -> Tables | None:
    """Return None: a plan uses the tables that it names itself."""
    return None


def file_needed(options: JMeterOptions) -> tuple[str, str] | None:
    """Return ("plan", its name) as the file that a run needs on its generator."""
    return ("plan", options["plan"]) if options.get("plan") else None


def host_files() -> dict[str, str]:
    """Return the plans of this host, each with why it can't be run (empty: it can)."""
    return {name: _fault_of(name) for name in binary.plan_names()[:MOST_PLANS]}


def plan_of(name: str) -> plans.Plan:
    """Return a plan of this host that may be run; raise ValueError."""
    plan = plans.checked(binary.plan_text(name))
    for url in plan.urls:
        http_addresses.allowed(url)
    return plan


def plan_to_start(name: str) -> plans.Plan:
    """Return a plan right before it is started; raise `Refused` where it may not be run."""
    try:
        return plan_of(name)
    except (ValueError, OSError) as error:
        raise Refused(
            _("plan %(name)s can't be run on this generator: %(error)s") % {"name": name, "error": error}
        ) from None


def _fault_of(name: str) -> str:
    try:
        plan_of(name)
    except (ValueError, OSError) as error:
        return str(error)
    return ""


def _plan_name(field: Field, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            _("%(value)s is not the name of a plan: choose that of a .jmx file, without a folder")
            % {"value": option_parsing.quoted(value)}
        )
    return value
