"""Servers that wait in a smart shutdown for sessions that never end: they are ended fast, and started again."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from panel.quickstart import supervise
from panel.quickstart.home import Home
from panel.quickstart.pgpool_server import PgpoolServer
from panel.quickstart.ports import free_port
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.servers import PgBouncerServer, PostgresServer, Server
from panel.quickstart.supervise import StopRequested, Supervisor
from tests.live.pools.conftest import SID, TRIXIE, in_folder
from tests.live.standbys import until

pytestmark = pytest.mark.usefixtures("restored_signals")


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """Ends what hangs a moment after it was asked to stop."""
    monkeypatch.setattr(supervise, "STOPS_WITHIN_S", 0.2)
    home = Home(tmp_path)
    home.open()
    with Supervisor(home) as opened:
        yield opened


def watched_until_spawned(supervisor: Supervisor, server: Server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is reported until the server is started again."""
    reports: list[str] = []
    spawn = server.spawn

    def spawned() -> None:
        spawn()
        raise StopRequested

    monkeypatch.setattr(server, "spawn", spawned)
    with pytest.raises(StopRequested):
        supervisor.watch(reports.append)
    server.wait_until_ready()
    assert not server.is_stopping
    return reports


def assert_ended_and_started_again(reports: list[str], name: str) -> None:
    assert reports[0] == f"{name} has been shutting down for 0 s, so its sessions are ended now"
    assert reports[1].startswith(f"{name} ended with exit code ")
    assert "starting it again in 0.5 s" in reports[1]
    assert len(reports) == 2


def test_sessions_that_stay_keep_nobody_out(
    tmp_path: Path, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = supervisor.start(PostgresServer(tmp_path / "postgres", free_port(), password="smart"))
    server.wait_until_ready()
    assert not server.is_stopping
    with server.connect() as idle:
        server.kill(signal.SIGTERM)
        until(lambda: server.is_stopping)
        with pytest.raises(psycopg.OperationalError, match="the database system is shutting down"):
            server.probe()
        assert_ended_and_started_again(watched_until_spawned(supervisor, server, monkeypatch), "postgres")
        with pytest.raises(psycopg.OperationalError):
            idle.execute("SELECT 1")


@pytest.fixture(params=[pytest.param(TRIXIE, id="trixie"), pytest.param(SID, id="sid")])
def pgbouncer(request: pytest.FixtureRequest, postgres: PostgresServer, supervisor: Supervisor) -> PgBouncerServer:
    """One of a release since 1.23, before the database `app`."""
    if not Path(request.param, "usr/sbin/pgbouncer").exists() or not request.param:
        pytest.skip("POOLDECK_TEST_TRIXIE or POOLDECK_TEST_SID names no debootstrap folder with pgbouncer")
    home, program = supervisor.home.path / "pgbouncer", str(in_folder(request.param))
    made = PgBouncerServer(home, free_port(), "app", "app-password", program)
    made.prepare()
    ini = made.config_dir / "pgbouncer.ini"
    ini.write_text(
        ini.read_text().replace("[databases]\n", f"[databases]\napp = host=127.0.0.1 port={postgres.port}\n")
    )
    supervisor.start(made)
    made.wait_until_ready()
    return made


@pytest.mark.parametrize("how", ["SIGTERM", "WAIT_FOR_CLIENTS"])
def test_a_pgbouncer_that_waits_for_its_clients_is_ended(
    pgbouncer: PgBouncerServer, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    assert not pgbouncer.is_stopping
    with as_client(pgbouncer), pgbouncer.connect() as console:
        if how == "SIGTERM":
            pgbouncer.kill(signal.SIGTERM)
        else:
            console.execute(b"SHUTDOWN WAIT_FOR_CLIENTS")
        until(lambda: pgbouncer.is_stopping)
        assert_ended_and_started_again(watched_until_spawned(supervisor, pgbouncer, monkeypatch), "pgbouncer")


def test_a_server_that_is_asked_to_stop_while_script_up_starts_or_measures_ends_it_with_the_reason(
    pgbouncer: PgBouncerServer, supervisor: Supervisor
) -> None:
    with as_client(pgbouncer):
        pgbouncer.kill(signal.SIGTERM)
        until(lambda: pgbouncer.is_stopping)
        with pytest.raises(ProgramFailed, match="pgbouncer was asked to shut down and waited for its clients: only"):
            supervisor.wait_for("the sky falls", 5, lambda: False)


def test_a_pgpool_that_waits_for_its_clients_is_ended(
    postgres: PostgresServer, supervisor: Supervisor, pgpool_binary: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = {postgres.superuser: postgres.password, "app": "app-password"}
    home = supervisor.home.path / "pgpool"
    made = PgpoolServer(home, free_port(), free_port(), postgres, passwords, pgpool_binary)
    made.children = 4
    server = supervisor.start(made)
    server.wait_until_ready()
    until(lambda: not server.is_stopping and server.has_served)
    with as_client(server):
        server.kill(signal.SIGTERM)
        until(lambda: server.is_stopping)
        assert_ended_and_started_again(watched_until_spawned(supervisor, server, monkeypatch), "pgpool")


def as_client(server: Server) -> "psycopg.Connection[Any]":
    """A session of `app`, used once."""
    words = {"user": "app", "password": "app-password", "dbname": "app", "connect_timeout": 5, "autocommit": True}
    session = psycopg.connect(host=server.host, port=server.port, **words)
    session.execute("SELECT 1")
    return session
