"""The connection string of Npgsql for .NET (its "Connection String Parameters"; DbConnectionStringBuilder's quotes)."""

import re

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import checked_sslmode
from pools.models import SslMode

MODES = {
    SslMode.DISABLE.value: "Disable",
    SslMode.REQUIRE.value: "Require",
    SslMode.VERIFY_CA.value: "VerifyCA",
    SslMode.VERIFY_FULL.value: "VerifyFull",
}


def render(endpoint: Endpoint) -> str:
    """Return `Host=…;Port=…;Database=…;Username=…;Password=…`, quoted where needed; `prefer` is its default."""
    values = {
        "Host": endpoint.host,
        "Port": str(endpoint.port),
        "Database": endpoint.database,
        "Username": endpoint.user,
        "Password": endpoint.password or "",
        "SSL Mode": MODES.get(checked_sslmode(endpoint), ""),
        "Root Certificate": endpoint.sslrootcert,
    }
    return ";".join(f"{name}={value_of(value)}" for name, value in values.items() if value)


def value_of(value: str) -> str:
    """Return the value, in double quotes (its own doubled) unless it is plain."""
    return value if re.fullmatch(r"[\w./:@%+-]+", value, re.ASCII) else '"' + value.replace('"', '""') + '"'
