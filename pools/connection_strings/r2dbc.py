"""The URL of R2DBC's PostgreSQL driver for Java (r2dbc-postgresql, README; R2DBC specification, "Connection URLs")."""

from urllib.parse import quote

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import checked_sslmode
from pools.models import SslMode


def render(endpoint: Endpoint) -> str:
    """Return `r2dbc:postgresql://user:password@host:port/database?sslMode=…`, encoded; sockets use `?socket=`."""
    login = quote(endpoint.user, safe="") + (f":{quote(endpoint.password, safe='')}" if endpoint.password else "")
    place = f"localhost:{endpoint.port}" if endpoint.is_socket else endpoint.address
    options = {"socket": endpoint.address} if endpoint.is_socket else security(endpoint)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
    return f"r2dbc:postgresql://{login}@{place}/{quote(endpoint.database, safe='')}" + (query and f"?{query}")


def security(endpoint: Endpoint) -> dict[str, str]:
    """Return libpq's TLS modes, always explicit: this driver's own default is no TLS at all."""
    options = {"sslMode": checked_sslmode(endpoint), "sslRootCert": endpoint.sslrootcert}
    if endpoint.sslmode == SslMode.DISABLE:
        del options["sslRootCert"]
    return {name: value for name, value in options.items() if value}
