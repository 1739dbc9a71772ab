"""An endpoint as libpq's parameters, shared by the formats that are made of them."""

from pools.clusters.endpoints import Endpoint
from pools.models import SslMode


def parameters(endpoint: Endpoint) -> dict[str, str]:
    """Return libpq's keywords with their values, in the usual order; unknown ones are omitted."""
    login = {
        "host": endpoint.host,
        "port": str(endpoint.port),
        "dbname": endpoint.database,
        "user": endpoint.user,
        "password": endpoint.password or "",
    }
    return {name: value for name, value in (login | tls(endpoint)).items() if value}


def tls(endpoint: Endpoint) -> dict[str, str]:
    """Return the TLS parameters; `prefer`, libpq's default, is omitted because node-postgres reads it as require."""
    sslmode = "" if endpoint.sslmode == SslMode.PREFER else str(endpoint.sslmode)
    parameters = {"sslmode": sslmode, "sslrootcert": endpoint.sslrootcert}
    return {name: value for name, value in parameters.items() if value}


def checked_sslmode(endpoint: Endpoint) -> str:
    """Return the mode that libpq checks by: with a root certificate its `require` is `verify-ca`.

    For drivers that take the word literally (libpq-ssl, "Protection Provided in Different Modes").
    """
    implied = endpoint.sslmode == SslMode.REQUIRE and endpoint.sslrootcert
    return SslMode.VERIFY_CA.value if implied else str(endpoint.sslmode)
