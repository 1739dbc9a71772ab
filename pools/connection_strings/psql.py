"""The psql command for a POSIX shell."""

import shlex

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import keywords


def render(endpoint: Endpoint) -> str:
    """Return `PGPASSWORD=… psql '…'`: arguments would show the password to every user of the machine."""
    return with_password(endpoint, f"psql {shlex.quote(keywords.render(endpoint.without_password()))}")


def with_password(endpoint: Endpoint, command: str) -> str:
    """Return the command with the password before it, where one is shown."""
    return f"PGPASSWORD={shlex.quote(endpoint.password)} {command}" if endpoint.password else command
