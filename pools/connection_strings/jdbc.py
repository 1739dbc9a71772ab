"""The URL of PostgreSQL's JDBC driver (pgjdbc, "Connecting to the Database")."""

from urllib.parse import quote

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.parameters import checked_sslmode, tls

SOCKET_FACTORY = "org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg"


def render(endpoint: Endpoint) -> str:
    """Return `jdbc:postgresql://host:port/database?user=…&password=…`, percent-encoded except for the host."""
    login = {"user": endpoint.user, "password": endpoint.password or ""}
    options = login | (socket(endpoint) if endpoint.is_socket else security(endpoint))
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items() if value)
    authority = f"localhost:{endpoint.port}" if endpoint.is_socket else endpoint.address
    return f"jdbc:postgresql://{authority}/{quote(endpoint.database, safe='')}?{query}"


def socket(endpoint: Endpoint) -> dict[str, str]:
    """Return the parameters for a Unix socket that pgjdbc documents (library junixsocket); servers refuse TLS there."""
    return {"socketFactory": SOCKET_FACTORY, "socketFactoryArg": endpoint.address}


def security(endpoint: Endpoint) -> dict[str, str]:
    """Return libpq's TLS parameters with what libpq would check: `require` trusts any certificate here."""
    properties = tls(endpoint)
    return properties | {"sslmode": checked_sslmode(endpoint)} if "sslmode" in properties else properties
