"""The panel's own options of a load, which no load program knows: what holds before and around it."""

from collections.abc import Iterator
from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.errors import InvalidOptions

GROUP = "Conditions"
LONGEST_WARM_UP_S = 3_600
MOST_IDLE = 10_000
ENDPOINT, CLUSTER = "endpoint", "cluster"

FIELDS = (
    Field(
        "idle_connections",
        "",
        "Idle connections beside it",
        "int",
        minimum=0,
        maximum=MOST_IDLE,
        group=GROUP,
        help="Opened before the load, each having read the catalogue once as clients do, and held until it ends",
    ),
    Field(
        "idle_at",
        "",
        "Idle connections to",
        "choice",
        default=ENDPOINT,
        choices=(ENDPOINT, CLUSTER),
        group=GROUP,
        help="endpoint: where the load goes, through the pool if it goes through one; cluster: past every pooler",
    ),
    Field(
        "settings_profile",
        "",
        "Settings profile",
        "text",
        group=GROUP,
        help="The name of a set of server settings: put in force before the run, taken back after it",
    ),
    Field(
        "vacuum",
        "",
        "Vacuum before",
        "bool",
        default=False,
        group=GROUP,
        help="VACUUM (ANALYZE) of the tables that the load uses",
    ),
    Field(
        "checkpoint",
        "",
        "Checkpoint before",
        "bool",
        default=False,
        group=GROUP,
        help="So that every run begins with as much to write as the others",
    ),
    Field(
        "warm_up",
        "",
        "Warm-up",
        "int",
        minimum=1,
        maximum=LONGEST_WARM_UP_S,
        unit="s",
        group=GROUP,
        help="The same load for a while, thrown away",
    ),
)
NAMES = frozenset(field.name for field in FIELDS)


def validate(raw: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, typed; one that was left out is absent. Raises `InvalidOptions`."""
    options, errors = option_parsing.read(FIELDS, raw)
    errors |= {name: [message] for name, message in _contradictions(options)}
    if errors:
        raise InvalidOptions(errors)
    return {name: value for name, value in options.items() if _is_set(name, value, options)}


def _contradictions(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    profile = options.get("settings_profile")
    if profile is not None and not profile.strip():
        yield "settings_profile", "the name is blank: choose a profile or leave it out"


def _is_set(name: str, value: Any, options: dict[str, Any]) -> bool:
    """False for what changes nothing: no idle connections, and where to open none."""
    if name == "idle_at":
        return bool(options.get("idle_connections"))
    return bool(value)
