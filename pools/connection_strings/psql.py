"""The psql command for a POSIX shell."""

import shlex

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import keywords


def render(endpoint: Endpoint) -> str:
    """`PGPASSWORD=… psql '…'`; the password stays out of the arguments, which every user of the machine can read."""
    return with_password(endpoint, f"psql {shlex.quote(keywords.render(endpoint.without_password()))}")


def with_password(endpoint: Endpoint, command: str) -> str:
    """The command with the password before it, where one is shown."""
    return f"PGPASSWORD={shlex.quote(endpoint.password)} {command}" if endpoint.password else command
