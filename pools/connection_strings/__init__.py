"""Connection strings: an endpoint in the syntax of each client; a format is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

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
    """A connection string: its label, its renderer, and the group it is chosen from (empty: a tab of its own)."""

    label: str | Promise
    render: Callable[[Endpoint], str]
    group: str = ""


# The connection box shows them in this order.
FORMATS: dict[str, Format] = {
    "uri": Format("URI", uri.render),
    "keywords": Format(_("Keywords"), keywords.render),
    "psql": Format("psql", psql.render),
    "env": Format(_("Environment"), env.render),
    "pgpass": Format(".pgpass", pgpass.render, FILES),
    "service": Format(_("Service file"), service.render, FILES),
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
    """The format of the connection string is unknown."""


def render(endpoint: Endpoint, as_: str, reveal: bool) -> str:
    """Return the text to copy; without `reveal` it holds no password. Raises `UnknownFormat` (field `as`)."""
    if as_ not in FORMATS:
        message = gettext("%(format)r is not a format of connection strings: choose one of %(formats)s")
        raise UnknownFormat({"as": [message % {"format": as_, "formats": ", ".join(FORMATS)}]})
    return FORMATS[as_].render(endpoint if reveal else endpoint.without_password())
