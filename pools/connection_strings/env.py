"""libpq's environment variables as lines for a POSIX shell."""

import shlex

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import parameters

VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}


def render(endpoint: Endpoint) -> str:
    """Return a line `export PGHOST=…` for each parameter; libpq takes each value literally."""
    return "\n".join(f"export {VARIABLES[name]}={shlex.quote(value)}" for name, value in parameters(endpoint).items())
