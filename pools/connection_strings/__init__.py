"""Connection strings: an endpoint in the words of each client; a format is one file and one line here."""

from collections.abc import Callable

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import (
    django,
    dotnet,
    env,
    go,
    jdbc,
    keywords,
    node,
    pgbench,
    pgpass,
    prisma,
    psql,
    psycopg,
    r2dbc,
    rails,
    service,
    sqlalchemy,
    uri,
)
from pools.errors import InvalidValues

FORMATS: dict[str, Callable[[Endpoint], str]] = {
    "uri": uri.render,
    "keywords": keywords.render,
    "psql": psql.render,
    "env": env.render,
    "pgpass": pgpass.render,
    "service": service.render,
    "jdbc": jdbc.render,
    "django": django.render,
    "sqlalchemy": sqlalchemy.render,
    "psycopg": psycopg.render,
    "go": go.render,
    "node": node.render,
    "rails": rails.render,
    "prisma": prisma.render,
    "dotnet": dotnet.render,
    "r2dbc": r2dbc.render,
    "pgbench": pgbench.render,
}


class UnknownFormat(InvalidValues):
    """No such connection string is known."""


def render(endpoint: Endpoint, as_: str, reveal: bool) -> str:
    """The text to copy; without `reveal` it holds no password. Raises `UnknownFormat` (field `as`)."""
    if as_ not in FORMATS:
        raise UnknownFormat({"as": [f"{as_!r} is no format: use one of {', '.join(FORMATS)}"]})
    return FORMATS[as_](endpoint if reveal else endpoint.without_password())
