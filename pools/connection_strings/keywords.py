"""The keyword=value string of libpq ("Keyword/Value Connection Strings")."""

from psycopg.conninfo import make_conninfo

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import parameters


def render(endpoint: Endpoint) -> str:
    """Return `host=… port=… dbname=… user=…`, quoted where a value needs it."""
    return make_conninfo(**parameters(endpoint))
