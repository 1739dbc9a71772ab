"""The environments of load programs, built from nothing: what the worker's own holds must not reach a load; pure."""

from pathlib import Path

from django.conf import settings

from benchmarks.processes.command import PASSFILE
from pools.clusters import endpoints
from pools.clusters.endpoints import Endpoint

CONNECT_TIMEOUT_S = 10
_PATH = "/usr/local/bin:/usr/bin:/bin"


def bare(home: Path, locale: str = "C") -> dict[str, str]:
    """Where programs are found, the run's private home, and English."""
    return {"PATH": _PATH, "HOME": str(home), "LC_ALL": locale}


def of_libpq(home: Path, application_name: str, endpoint: Endpoint) -> dict[str, str]:
    """What libpq needs beside where it logs in to: the password's file, patience, and a name for its sessions.

    PGOPTIONS is left out since PgBouncer refuses it (`unsupported startup parameter: options`).
    """
    refused = endpoints.refusing_cleartext(endpoint.is_verified).get("require_auth")
    return ({"PGREQUIREAUTH": refused} if refused else {}) | {
        "PGPASSFILE": str(home / PASSFILE),
        "PGCONNECT_TIMEOUT": str(CONNECT_TIMEOUT_S),
        "PGAPPNAME": application_name,
    }


def of_python(home: Path) -> dict[str, str]:
    """For a module of the panel in a process by itself, whose lines come as they are written."""
    return bare(home, "C.UTF-8") | {
        "PYTHONPATH": str(settings.BASE_DIR),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
