"""The private servers serve, ask for passwords and leave nothing behind."""

import hashlib
import os
from pathlib import Path

import psycopg
import pytest
import redis

from panel.quickstart import account
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.servers import PgBouncerServer, PostgresServer, RedisServer, free_port
from pools.models import Cluster, Pooler
from tests.live.conftest import APP_DATABASE, APP_PASSWORD, APP_ROLE


def test_postgres_refuses_a_wrong_password(postgres: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(host=postgres.host, port=postgres.port, user="postgres", password="wrong", dbname="postgres")


def test_postgres_runs_as_an_ordinary_account(postgres: PostgresServer) -> None:
    assert postgres.process is not None
    uid = Path(f"/proc/{postgres.process.pid}").stat().st_uid
    expected = account.unprivileged()
    assert uid == (expected.uid if expected else os.getuid())


def test_redis_asks_for_its_password(redis_server: RedisServer) -> None:
    client = redis.Redis(host=redis_server.host, port=redis_server.port)
    with client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_pgbouncer_console_answers(pgbouncer: PgBouncerServer) -> None:
    with pgbouncer.connect() as console:
        assert console.execute("SHOW DATABASES").fetchall()[0][0] == "pgbouncer"


def test_pgpool_leads_to_the_cluster(pgpool: PgpoolServer) -> None:
    login = {"host": pgpool.host, "port": pgpool.port, "user": APP_ROLE, "password": APP_PASSWORD}
    with psycopg.connect(**login, dbname=APP_DATABASE) as session:
        assert session.execute("SELECT current_user").fetchone() == (APP_ROLE,)


def test_a_stopped_server_leaves_no_process(tmp_path: Path) -> None:
    server = PostgresServer(tmp_path / "pg", free_port(), password="x")
    with server:
        assert server.process is not None
        group = server.process.pid
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_the_registered_records_hold_the_logins(cluster: Cluster, pooler: Pooler, postgres: PostgresServer) -> None:
    assert cluster.admin_password == postgres.password
    assert cluster.password_of(APP_ROLE) == APP_PASSWORD
    assert pooler.admin_password == "console-password"


def test_the_demo_lets_in_an_md5_hash_and_keeps_scram_for_others(tmp_path: Path) -> None:
    """Arms of playbooks that log in by MD5 could not be measured on the demo."""
    home = tmp_path / "postgres"
    with PostgresServer(home, free_port(), password="of-the-superuser"):
        pass  # a home of an earlier release
    with PostgresServer(home, free_port(), password="of-the-superuser", lets_in_md5=True) as server:
        digest = hashlib.md5(b"secretold", usedforsecurity=False).hexdigest()
        with server.connect() as session:
            session.execute(f"CREATE ROLE old LOGIN PASSWORD 'md5{digest}'")
            rules = session.execute("SELECT auth_method FROM pg_hba_file_rules WHERE address IS NOT NULL").fetchall()
        assert ("md5",) in rules
        login = {"host": server.host, "port": server.port, "dbname": "postgres"}
        psycopg.connect(**login, user="old", password="secret").close()
        with psycopg.connect(**login, user=server.superuser, password=server.password) as session:
            (kept,) = session.execute("SELECT rolpassword FROM pg_authid WHERE rolname = current_user").fetchone()
        assert kept.startswith("SCRAM-SHA-256$")
