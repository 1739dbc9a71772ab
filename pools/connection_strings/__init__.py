"""Connection strings: an endpoint in the words of each client; a format is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

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

FILES, FRAMEWORK = "files", "framework"


@dataclass(frozen=True)
class Format:
    """A connection string: its name for people, what writes it, and the group it is chosen from (none: a tab)."""

    label: str
    render: Callable[[Endpoint], str]
    group: str = ""


# in the order in which the box shows them
FORMATS: dict[str, Format] = {
    "uri": Format("URI", uri.render),
    "keywords": Format("Keywords", keywords.render),
    "psql": Format("psql", psql.render),
    "env": Format("Environment", env.render),
    "pgpass": Format(".pgpass", pgpass.render, FILES),
    "service": Format("Service file", service.render, FILES),
    "pgbench": Format("pgbench", pgbench.render, FILES),
    "django": Format("Django", django.render, FRAMEWORK),
    "sqlalchemy": Format("SQLAlchemy", sqlalchemy.render, FRAMEWORK),
    "psycopg": Format("psycopg", psycopg.render, FRAMEWORK),
    "rails": Format("Rails", rails.render, FRAMEWORK),
    "node": Format("Node.js", node.render, FRAMEWORK),
    "prisma": Format("Prisma", prisma.render, FRAMEWORK),
    "go": Format("Go pgx", go.render, FRAMEWORK),
    "jdbc": Format("JDBC", jdbc.render, FRAMEWORK),
    "r2dbc": Format("R2DBC", r2dbc.render, FRAMEWORK),
    "dotnet": Format(".NET", dotnet.render, FRAMEWORK),
}


class UnknownFormat(InvalidValues):
    """No such connection string is known."""


def render(endpoint: Endpoint, as_: str, reveal: bool) -> str:
    """The text to copy; without `reveal` it holds no password. Raises `UnknownFormat` (field `as`)."""
    if as_ not in FORMATS:
        raise UnknownFormat({"as": [f"{as_!r} is no format: use one of {', '.join(FORMATS)}"]})
    return FORMATS[as_].render(endpoint if reveal else endpoint.without_password())
