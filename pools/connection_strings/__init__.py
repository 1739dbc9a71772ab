"""Connection strings: an endpoint in the words of each client; a format is one file and one line here."""

from collections.abc import Callable

from pools.connection_strings import (
    django,
    env,
    go,
    jdbc,
    keywords,
    node,
    pgbench,
    pgpass,
    psql,
    rails,
    sqlalchemy,
    uri,
)
from pools.endpoints import Endpoint
from pools.errors import InvalidValues

FORMATS: dict[str, Callable[[Endpoint], str]] = {
    "uri": uri.render,
    "keywords": keywords.render,
    "psql": psql.render,
    "env": env.render,
    "jdbc": jdbc.render,
    "django": django.render,
    "sqlalchemy": sqlalchemy.render,
    "go": go.render,
    "node": node.render,
    "rails": rails.render,
    "pgpass": pgpass.render,
    "pgbench": pgbench.render,
}


class UnknownFormat(InvalidValues):
    """No such connection string is known."""


def render(endpoint: Endpoint, as_: str, reveal: bool) -> str:
    """The text to copy; without `reveal` it holds no password. Raises `UnknownFormat` (field `as`)."""
    if as_ not in FORMATS:
        raise UnknownFormat({"as": [f"{as_!r} is no format: use one of {', '.join(FORMATS)}"]})
    return FORMATS[as_](endpoint if reveal else endpoint.without_password())
