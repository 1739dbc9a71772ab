"""The pgbench command for a POSIX shell: read-only, short, one progress line a second."""

import shlex

from pools.clusters.endpoints import Endpoint
from pools.connection_strings import keywords
from pools.connection_strings.psql import with_password


def render(endpoint: Endpoint) -> str:
    """Return `PGPASSWORD=… pgbench … '…'`."""
    conninfo = shlex.quote(keywords.render(endpoint.without_password()))
    return with_password(endpoint, f"pgbench -n -S -c 10 -T 30 -P 1 {conninfo}")
