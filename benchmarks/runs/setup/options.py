"""The panel's own options of a load, which no load program has: the conditions before and around it."""

from collections.abc import Iterator, Mapping
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field, OptionGroup
from benchmarks.errors import InvalidOptions
from benchmarks.models.options import SetupOptions

GROUP = OptionGroup.CONDITIONS
LONGEST_WARM_UP_S = 3_600
MOST_IDLE = 10_000
ENDPOINT, CLUSTER = "endpoint", "cluster"
CATALOG, NOTHING = "catalogue", "nothing"  # values of the API, which stay until 1.0

FIELDS = (
    Field(
        "idle_connections",
        "",
        gettext_lazy("Idle connections beside the load"),
        "int",
        minimum=0,
        maximum=MOST_IDLE,
        group=GROUP,
        help=gettext_lazy("Opened before the load and held until it ends; each reads the catalog once, as clients do"),
    ),
    Field(
        "idle_reads",
        "",
        gettext_lazy("Idle connections read"),
        "choice",
        default=CATALOG,
        choices=(CATALOG, NOTHING),
        group=GROUP,
        help=gettext_lazy(
            "catalogue: each keeps what it read in its memory, as sessions of clients do; nothing: they open faster"
        ),
    ),
    Field(
        "idle_at",
        "",
        gettext_lazy("Idle connections to"),
        "choice",
        default=ENDPOINT,
        choices=(ENDPOINT, CLUSTER),
        group=GROUP,
        help=gettext_lazy("endpoint: same as the load, through its pool if it has one; cluster: past every pooler"),
    ),
    Field(
        "settings_profile",
        "",
        gettext_lazy("Settings profile"),
        "text",
        group=GROUP,
        help=gettext_lazy("The name of a set of server settings: put in force before the run, restored after it"),
    ),
    Field(
        "vacuum",
        "",
        gettext_lazy("Vacuum before"),
        "bool",
        default=False,
        group=GROUP,
        help=gettext_lazy("VACUUM (ANALYZE) of the tables that the load uses"),
    ),
    Field(
        "checkpoint",
        "",
        gettext_lazy("Checkpoint before"),
        "bool",
        default=False,
        group=GROUP,
        help=gettext_lazy("So that every run begins with the same amount of data to write"),
    ),
    Field(
        "warm_up",
        "",
        gettext_lazy("Warm-up"),
        "int",
        minimum=1,
        maximum=LONGEST_WARM_UP_S,
        unit="s",
        group=GROUP,
        help=gettext_lazy("Run the same load for a while first; its figures are thrown away"),
    ),
)
NAMES = frozenset(field.name for field in FIELDS)


def validate(raw: Mapping[str, object]) -> SetupOptions:
    """Return the given options, typed; options left out are absent. Raises `InvalidOptions`."""
    options, errors = option_parsing.read(FIELDS, raw)
    errors |= {name: [message] for name, message in _contradictions(options)}
    if errors:
        raise InvalidOptions(errors)
    return cast("SetupOptions", {name: value for name, value in options.items() if _is_set(name, value, options)})


def _contradictions(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    profile = options.get("settings_profile")
    if isinstance(profile, str) and not profile.strip():
        yield "settings_profile", _("the name is blank: choose a profile or leave it out")


def _is_set(name: str, value: object, options: Mapping[str, object]) -> bool:
    """Return False for a value that changes nothing: no idle connections, and how to open none."""
    if name == "idle_at":
        return bool(options.get("idle_connections"))
    if name == "idle_reads":
        return bool(options.get("idle_connections")) and value != CATALOG
    return bool(value)
