"""libpq's environment variables as lines for a POSIX shell."""

import re
import shlex

from psycopg.conninfo import make_conninfo

from pools.connection_strings.parameters import parameters
from pools.endpoints import Endpoint

VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "sslmode": "PGSSLMODE",
    "sslrootcert": "PGSSLROOTCERT",
}
EXPANDED = re.compile(r"=|^postgres(ql)?://")


def render(endpoint: Endpoint) -> str:
    """`export PGHOST=…` and so on, a line each."""
    values = {name: _literal(name, value) for name, value in parameters(endpoint).items()}
    return "\n".join(f"export {VARIABLES[name]}={shlex.quote(value)}" for name, value in values.items())


def _literal(name: str, value: str) -> str:
    """A database whose name looks like a connection string would be taken for one: wrap it in a real one."""
    return make_conninfo(dbname=value) if name == "dbname" and EXPANDED.search(value) else value
