"""A PostgreSQL that refuses logins in every way, for the tests of what people are told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from panel.quickstart import account
from panel.quickstart.servers import PostgresServer, free_port
from pools.clusters.endpoints import Endpoint
from tests.certificates import self_signed

PASSWORD = "p@ss w/o:rd'\"%"
HBA = """
host all ghost 127.0.0.1/32 trust
host all rejected 127.0.0.1/32 reject
host all peered 127.0.0.1/32 ident
hostssl all encrypted 127.0.0.1/32 scram-sha-256
host all legacy 127.0.0.1/32 password
host all postgres,app,frozen 127.0.0.1/32 scram-sha-256
"""
ROLES = f"""
CREATE ROLE app LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
CREATE ROLE legacy LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
CREATE ROLE frozen NOLOGIN PASSWORD 'x';
CREATE DATABASE closed;
REVOKE CONNECT ON DATABASE closed FROM PUBLIC;
CREATE DATABASE asleep ALLOW_CONNECTIONS false;
"""


@pytest.fixture(scope="session")
def strict_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that offers TLS, has ten connections, and rules of every kind in pg_hba.conf."""
    home = tmp_path_factory.mktemp("strict")
    account.make_folder(home)
    account.write_private(home / "hba.conf", HBA)
    settings = {"max_connections": "10", "hba_file": str(home / "hba.conf"), "fsync": "off", **tls_settings(home)}
    with PostgresServer(home, free_port(), password="super-secret", settings=settings) as running:
        with running.connect() as session:
            for statement in ROLES.strip().splitlines():
                session.execute(statement)
        yield running


def tls_settings(home: Path) -> dict[str, str]:
    """The settings that turn TLS on with a certificate for `localhost`."""
    key, certificate = self_signed("localhost")
    for name, text in (("server.key", key), ("server.crt", certificate)):
        account.write_private(home / name, text)
    return {"ssl": "on", "ssl_key_file": str(home / "server.key"), "ssl_cert_file": str(home / "server.crt")}


@pytest.fixture
def app(strict_postgres: PostgresServer) -> Endpoint:
    """The login of a role with an odd password."""
    return Endpoint(strict_postgres.host, strict_postgres.port, "postgres", "app", PASSWORD)
