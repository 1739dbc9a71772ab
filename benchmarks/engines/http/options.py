"""Options of an HTTP run, and their validation."""

from collections.abc import Mapping
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.engines import http_addresses, option_parsing
from benchmarks.engines.base import Field, OptionGroup
from benchmarks.engines.http.typed_options import HttpOptions
from benchmarks.errors import InvalidOptions
from benchmarks.load_programs.products.connections import MOST_OPEN

LOAD, PREPARE = "load", "prepare"
FILL, DROP = "fill", "drop"
PRODUCTS = "products"
LONGEST_URL = 2_000
POOLED = "pooled"
KIND_SCHEMAS = {"url": {"type": "string", "format": "uri", "maxLength": LONGEST_URL}}
OF_POOL = ("pool_size", "pool_idle", "pool_lifetime", "pool_idle_time")  # set only where the service has a pool

FIELDS = (
    Field(
        "workload",
        "",
        gettext_lazy("Workload"),
        "choice",
        default=PRODUCTS,
        choices=(PRODUCTS,),
        help=gettext_lazy(
            "products: a small service of the panel answers with 1,000 rows as JSON; it is one Python process, so it "
            "uses one processor: compare its kinds of connection with each other, not with other services"
        ),
    ),
    Field(
        "connection",
        "",
        gettext_lazy("The service's connections"),
        "choice",
        default=POOLED,
        choices=("new", "normal", POOLED),
        help=gettext_lazy(
            "new: one for each request; normal: one is kept, the rest opened and closed; pooled: the service has a "
            "pool of them; each of several generators has a service of its own"
        ),
    ),
    Field(
        "pool_size",
        "",
        gettext_lazy("Connections of the service's pool"),
        "int",
        default=MOST_OPEN,
        minimum=1,
        maximum=5_000,
        help=gettext_lazy(
            "For pooled connections: the most that the pool opens. Several generators share the number of the whole run"
        ),
    ),
    Field(
        "pool_idle",
        "",
        gettext_lazy("Idle connections kept in the service's pool"),
        "int",
        minimum=0,
        maximum=5_000,
        group=OptionGroup.CONNECTIONS,
        help=gettext_lazy("Kept open without work; five ninths of the pool if left out, as published"),
    ),
    Field(
        "pool_lifetime",
        "",
        gettext_lazy("Lifetime of the pool's connections"),
        "float",
        minimum=0.1,
        maximum=86_400,
        unit="s",
        group=OptionGroup.CONNECTIONS,
        help=gettext_lazy("Each connection is replaced after this time; 120 s if left out"),
    ),
    Field(
        "pool_idle_time",
        "",
        gettext_lazy("Idle time of the pool's connections"),
        "float",
        minimum=0.1,
        maximum=86_400,
        unit="s",
        group=OptionGroup.CONNECTIONS,
        help=gettext_lazy("Those beyond the idle ones kept are closed after so long without work; 600 s if left out"),
    ),
    Field(
        "concurrency",
        "--concurrency",
        gettext_lazy("Workers"),
        "int",
        default=20,
        minimum=1,
        maximum=5_000,
        help=gettext_lazy("Each sends its next request when the previous one is answered"),
    ),
    Field("duration", "--duration", gettext_lazy("Duration"), "int", default=30, minimum=1, maximum=86_400, unit="s"),
    Field(
        "url",
        "",
        gettext_lazy("An address of your own"),
        "url",
        group=OptionGroup.TARGET,
        help=gettext_lazy(
            "In place of the workload: an http or https address on a host that POOLDECK_HTTP_ALLOW names; the pool or "
            "cluster above is behind it, and is monitored during the run"
        ),
    ),
    Field(
        "new_connections",
        "--new-connections",
        gettext_lazy("A new HTTP connection for each request"),
        "bool",
        default=False,
        group=OptionGroup.REQUESTS,
        help=gettext_lazy("Otherwise each worker keeps its connection"),
    ),
    Field(
        "timeout",
        "--timeout",
        gettext_lazy("Timeout"),
        "float",
        default=20.0,
        minimum=0.1,
        maximum=3_600,
        unit="s",
        group=OptionGroup.REQUESTS,
        help=gettext_lazy("An answer that takes longer counts as failed"),
    ),
    Field(
        "action",
        "",
        gettext_lazy("What to do"),
        "choice",
        default=FILL,
        choices=(FILL, DROP),
        purpose=PREPARE,
        help=gettext_lazy("fill recreates the table products, drop removes it"),
    ),
    Field(
        "rows",
        "--rows",
        gettext_lazy("Products"),
        "int",
        default=20_000,
        minimum=1_000,
        maximum=10_000_000,
        purpose=PREPARE,
        help=gettext_lazy("Rows of the table; each request reads 1,000 of them"),
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """Return the options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: Mapping[str, object], *, purpose: str = LOAD) -> HttpOptions:
    """Return all options of this purpose, typed and with defaults; with a `url` there is no `workload` or `connection`.

    Options of the pool are set only where the service has a pool. Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, {"url": _url})
    errors = _pool_errors(cast("HttpOptions", options)) | errors
    if errors:
        raise InvalidOptions(errors)
    filled = {name: options.get(name, field.default) for name, field in fields.items()}
    if filled.get("url"):
        filled |= {"workload": None, "connection": None}
    if filled.get("connection") != POOLED and purpose != PREPARE:
        filled |= dict.fromkeys(OF_POOL)
    return cast("HttpOptions", filled)


def _pool_errors(options: HttpOptions) -> dict[str, list[str]]:
    size, idle = options.get("pool_size") or MOST_OPEN, options.get("pool_idle") or 0
    if idle <= size:
        return {}
    message = _("%(idle)s is more than the pool opens (%(size)s): use at most %(size)s, or raise pool_size")
    return {"pool_idle": [message % {"idle": f"{idle:,}", "size": f"{size:,}"}]}


def _url(field: Field, value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_URL:
        raise ValueError(
            _("%(value)s is not a web address of at most %(longest_url)s characters: enter a shorter one")
            % {"value": option_parsing.quoted(value), "longest_url": f"{LONGEST_URL:,}"}
        )
    return http_addresses.allowed(value.strip())


def extra_connections(options: HttpOptions) -> dict[str, int]:
    """Return ("pool_size", connections) that the services of a run keep open together; empty without a pool.

    What `new` and `normal` open beyond the server's limit are failed requests, which the run counts.
    """
    size = options.get("pool_size")
    return {"pool_size": size} if size else {}


def aim_of(options: HttpOptions) -> str:
    """Return the target of the requests: an address, or a path of the products service."""
    return str(options.get("url") or f"/products/{options['connection']}")
