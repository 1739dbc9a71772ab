"""A section of libpq's service file, ~/.pg_service.conf (libpq-pgservice), which `psql service=…` then takes."""

import re

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import parameters


def render(endpoint: Endpoint) -> str:
    """`[name]` and a line a parameter, the database's name being the section's as far as it may."""
    lines = [line(name, value) for name, value in parameters(endpoint).items()]
    return "\n".join([f"[{section(endpoint)}]", *lines])


def section(endpoint: Endpoint) -> str:
    """A name without what ends a section's, or needs quotes where it is used."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", endpoint.database)


def line(name: str, value: str) -> str:
    """libpq takes all behind the first equals sign but blanks at the end, and has no quotes to keep those."""
    if value != value.rstrip(" \t\n\r\f\v"):
        return f"# {name} ends with a blank, which a service file can't hold: give it another way"
    return f"{name}={value}"
