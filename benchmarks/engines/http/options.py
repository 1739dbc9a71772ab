"""The options of an HTTP run, and the one place that checks them."""

from typing import Any

from benchmarks.engines import option_parsing
from benchmarks.engines.base import Field
from benchmarks.engines.http import addresses
from benchmarks.errors import InvalidOptions
from benchmarks.load_programs.products.connections import MOST_OPEN

LOAD, PREPARE = "load", "prepare"
FILL, DROP = "fill", "drop"
PRODUCTS = "products"
LONGEST_URL = 2_000
POOLED = "pooled"

FIELDS = (
    Field(
        "workload",
        "",
        "Workload",
        "choice",
        default=PRODUCTS,
        choices=(PRODUCTS,),
        help="products: a small service of the panel's own answers 1,000 rows as JSON; one Python process, so one "
        "processor: compare its connections with each other, not with other services",
    ),
    Field(
        "connection",
        "",
        "The service's connections",
        "choice",
        default=POOLED,
        choices=("new", "normal", POOLED),
        help="new: one for each request; normal: one is kept, the rest opened and closed; pooled: the service has a "
        "pool of them; each of several generators has a service of its own",
    ),
    Field(
        "pool_size",
        "",
        "Connections of the service's pool",
        "int",
        default=MOST_OPEN,
        minimum=1,
        maximum=5_000,
        help="Where they are pooled: the most that it opens, of which it keeps five ninths when it has nothing to do; "
        "those of a whole run, shared out over several generators",
    ),
    Field(
        "concurrency",
        "--concurrency",
        "Workers",
        "int",
        default=20,
        minimum=1,
        maximum=5_000,
        help="Each sends its next request when the last one is answered",
    ),
    Field("duration", "--duration", "Duration", "int", default=30, minimum=1, maximum=86_400, unit="s"),
    Field(
        "url",
        "",
        "An address of your own",
        "url",
        group="Target",
        help="In place of the workload: an http or https address on a host that POOLDECK_HTTP_ALLOW names; the pool or "
        "cluster above is what stands behind it, and is watched meanwhile",
    ),
    Field(
        "new_connections",
        "--new-connections",
        "A new HTTP connection for each request",
        "bool",
        default=False,
        group="Requests",
        help="Else each worker keeps its own",
    ),
    Field(
        "timeout",
        "--timeout",
        "Timeout",
        "float",
        default=20.0,
        minimum=0.1,
        maximum=3_600,
        unit="s",
        group="Requests",
        help="An answer that takes longer counts as failed",
    ),
    Field(
        "action",
        "",
        "What to do",
        "choice",
        default=FILL,
        choices=(FILL, DROP),
        purpose=PREPARE,
        help="fill makes the table products anew, drop removes it",
    ),
    Field(
        "rows",
        "--rows",
        "Products",
        "int",
        default=20_000,
        minimum=1_000,
        maximum=10_000_000,
        purpose=PREPARE,
        help="Rows of the table; each request reads 1,000 of them",
    ),
)


def fields_for(purpose: str) -> tuple[Field, ...]:
    """The options that a run of this purpose may carry, in the order of the form."""
    return tuple(field for field in FIELDS if field.purpose == purpose)


def validate(raw: dict[str, Any], *, purpose: str = LOAD) -> dict[str, Any]:
    """All options of this purpose, typed and filled; with a `url` there is no `workload` nor `connection`.

    There is a `pool_size` only where the service has a pool. Raises `InvalidOptions` with every fault found.
    """
    fields = {field.name: field for field in fields_for(purpose)}
    options, errors = option_parsing.read(fields.values(), raw, {"url": _url})
    unknown = [name for name, value in raw.items() if name not in fields and option_parsing.is_given(value)]
    errors |= {name: [f"{name!r} is not an option here; use {', '.join(fields)}"] for name in unknown}
    if errors:
        raise InvalidOptions(errors)
    filled = {name: options.get(name, field.default) for name, field in fields.items()}
    if filled.get("url"):
        filled |= {"workload": None, "connection": None}
    return filled | ({} if filled.get("connection") == POOLED or purpose == PREPARE else {"pool_size": None})


def _url(field: Field, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_URL:
        raise ValueError(f"{option_parsing.shown(value)} is no address: use at most {LONGEST_URL:,} characters")
    return addresses.allowed(value.strip())


def extra_connections(options: dict[str, Any]) -> dict[str, int]:
    """The connections that the services of a run keep open together, by the option that bounds them.

    Empty without a pool: what `new` and `normal` open and are refused are failed requests, which the run counts.
    """
    return {"pool_size": int(options["pool_size"])} if options.get("pool_size") else {}


def aim_of(options: dict[str, Any]) -> str:
    """What the requests go to: an address, or a path of the products service."""
    return str(options.get("url") or f"/products/{options['connection']}")
