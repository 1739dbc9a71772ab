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
    """`export PGHOST=…` and so on, a line each; libpq takes each value as it stands."""
    return "\n".join(f"export {VARIABLES[name]}={shlex.quote(value)}" for name, value in parameters(endpoint).items())
