"""SQLAlchemy's URL for psycopg ("Engine Configuration", "PostgreSQL: psycopg"; its query goes to libpq)."""

from urllib.parse import quote

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import tls
from pools.connection_strings.uri import socket


def render(endpoint: Endpoint) -> str:
    """Return `postgresql+psycopg://user:password@host:port/database?…`, percent-encoded except for the host."""
    login = quote(endpoint.user, safe="") + (f":{quote(endpoint.password, safe='')}" if endpoint.password else "")
    authority = "" if endpoint.is_socket else endpoint.address
    path, named = database(endpoint)
    options = named | socket(endpoint) | tls(endpoint)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
    return f"postgresql+psycopg://{login}@{authority}/{path}" + (query and f"?{query}")


def database(endpoint: Endpoint) -> tuple[str, dict[str, str]]:
    """Return the path, or `dbname` for a name that needs encoding: before 2.1 SQLAlchemy does not decode the path."""
    plain = quote(endpoint.database, safe="") == endpoint.database
    return (endpoint.database, {}) if plain else ("", {"dbname": endpoint.database})
