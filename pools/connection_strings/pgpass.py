"""The line for ~/.pgpass (libpq-pgpass)."""

import re

from pools.clusters.endpoints import Endpoint


def render(endpoint: Endpoint) -> str:
    """Return `host:port:database:user:password`, escaped; a hidden password leaves the last part empty."""
    parts = (endpoint.host, str(endpoint.port), endpoint.database, endpoint.user, endpoint.password or "")
    return ":".join(re.sub(r"([\\:])", r"\\\1", part) for part in parts)
