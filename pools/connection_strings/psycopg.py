"""A connection of psycopg 3 in Python (its `connect` takes libpq's parameters as keyword arguments)."""

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import parameters
from pools.connection_strings.quoting import quoted


def render(endpoint: Endpoint) -> str:
    """Return `psycopg.connect(host=…, …)`, one argument per line."""
    keywords = parameters(endpoint)
    lines = [f"    {name}={value if name == 'port' else quoted(value)}," for name, value in keywords.items()]
    return "\n".join(["import psycopg", "", "connection = psycopg.connect(", *lines, ")"])
