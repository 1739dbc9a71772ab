"""Environments of load programs, built from scratch so that nothing of the worker's own reaches a load; pure."""

from pathlib import Path

from django.conf import settings

from benchmarks.processes.command import PASSFILE
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint

CONNECT_TIMEOUT_S = 10
# Environment variables of the parameters that an endpoint may have besides its login (libpq-envars).
_VARIABLES = {
    "channel_binding": "PGCHANNELBINDING",
    "client_encoding": "PGCLIENTENCODING",
    "gssencmode": "PGGSSENCMODE",
    "ssl_max_protocol_version": "PGSSLMAXPROTOCOLVERSION",
    "ssl_min_protocol_version": "PGSSLMINPROTOCOLVERSION",
    "sslsni": "PGSSLSNI",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
}
_PATH = "/usr/local/bin:/usr/bin:/bin"


def minimal_environment(home: Path, locale: str = "C") -> dict[str, str]:
    """Return PATH, the run's private home as HOME, and the locale."""
    return {"PATH": _PATH, "HOME": str(home), "LC_ALL": locale}


def libpq_environment(home: Path, application_name: str, endpoint: Endpoint) -> dict[str, str]:
    """Return libpq's variables beside the endpoint's address: password file, connect timeout, a name for the sessions.

    PGHOSTADDR keeps the program from resolving the name again, which may lead elsewhere by then.
    PGOPTIONS is left out since PgBouncer refuses it (`unsupported startup parameter: options`).
    """
    refused = endpoints.refusing_cleartext(endpoint.is_verified).get("require_auth")
    parameters = {_VARIABLES[name]: value for name, value in endpoint.parameters}
    return (
        ({"PGREQUIREAUTH": refused} if refused else {})
        | ({"PGHOSTADDR": endpoint.hostaddr} if endpoint.hostaddr else {})
        | parameters
        | {
            "PGPASSFILE": str(home / PASSFILE),
            "PGCONNECT_TIMEOUT": str(CONNECT_TIMEOUT_S),
            "PGAPPNAME": application_name,
        }
    )


def python_environment(home: Path) -> dict[str, str]:
    """Return the environment of a module of the panel in a process of its own, with unbuffered output."""
    return minimal_environment(home, "C.UTF-8") | {
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
