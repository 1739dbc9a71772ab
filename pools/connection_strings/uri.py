"""The connection URI (libpq-connect, "Connection URIs")."""

from urllib.parse import quote

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import tls


def render(endpoint: Endpoint) -> str:
    """Return `postgresql://user:password@host:port/database?…`, percent-encoded; sockets use `?host=`."""
    secret = f":{quote(endpoint.password, safe='')}" if endpoint.password else ""
    login = f"{quote(endpoint.user, safe='')}{secret}@" if endpoint.user else ""
    options = socket(endpoint) | tls(endpoint) | dict(endpoint.parameters)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
    return f"postgresql://{login}{authority(endpoint)}/{quote(endpoint.database, safe='')}" + (query and f"?{query}")


def authority(endpoint: Endpoint) -> str:
    """Return `host:port`, an IPv6 address in brackets, and nothing for a socket."""
    if endpoint.is_socket:
        return ""
    host = f"[{quote(endpoint.host, safe=':')}]" if ":" in endpoint.host else quote(endpoint.host, safe="")
    return f"{host}:{endpoint.port}"


def socket(endpoint: Endpoint) -> dict[str, str]:
    """Return the parameters for a Unix socket."""
    return {"host": endpoint.host, "port": str(endpoint.port)} if endpoint.is_socket else {}
