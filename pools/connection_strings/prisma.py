"""Prisma's DATABASE_URL for its .env file (Prisma docs, "PostgreSQL database connector", "SSL")."""

from urllib.parse import quote

from pools.clusters.endpoints import Endpoint
from pools.connection_strings.uri import authority
from pools.models import SslMode


def render(endpoint: Endpoint) -> str:
    """Return `DATABASE_URL="postgresql://…"`, percent-encoded; so is `$`, which its .env reader would expand."""
    login = quote(endpoint.user, safe="") + (f":{quote(endpoint.password, safe='')}" if endpoint.password else "")
    place = f"localhost:{endpoint.port}" if endpoint.is_socket else authority(endpoint)
    options = {"host": endpoint.host} if endpoint.is_socket else security(endpoint)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
    url = f"postgresql://{login}@{place}/{quote(endpoint.database, safe='')}" + (query and f"?{query}")
    return f'DATABASE_URL="{url}"'


def security(endpoint: Endpoint) -> dict[str, str]:
    """Return Prisma's TLS parameters: only `sslaccept=strict` checks a certificate, and then the host name too."""
    if endpoint.sslmode == SslMode.PREFER and not endpoint.sslrootcert:
        return {}
    checks = endpoint.sslmode in (SslMode.VERIFY_CA, SslMode.VERIFY_FULL) or bool(endpoint.sslrootcert)
    modes = {SslMode.DISABLE.value: "disable", SslMode.PREFER.value: "prefer"}
    parameters = {"sslmode": modes.get(endpoint.sslmode, "require")}
    if checks and endpoint.sslmode not in modes:
        parameters["sslaccept"] = "strict"
    if endpoint.sslrootcert and endpoint.sslmode not in modes:
        parameters["sslcert"] = endpoint.sslrootcert
    return parameters
