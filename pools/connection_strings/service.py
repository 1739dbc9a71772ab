"""A section of libpq's service file, ~/.pg_service.conf (libpq-pgservice), which `psql service=…` then takes."""

import re

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import parameters


def render(endpoint: Endpoint) -> str:
    """Return `[name]` and a line for each parameter; the section is named after the database."""
    lines = [line(name, value) for name, value in parameters(endpoint).items()]
    return "\n".join([f"[{section(endpoint)}]", *lines])


def section(endpoint: Endpoint) -> str:
    """Return the database's name without characters that end a section's name or need quotes."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", endpoint.database)


def line(name: str, value: str) -> str:
    """Return `name=value`, or a comment where the value ends with a blank: libpq strips it and has no quotes."""
    if value != value.rstrip(" \t\n\r\f\v"):
        return f"# {name} ends with a blank, which a service file can't hold: set it in another way"
    return f"{name}={value}"
