"""A PostgreSQL that waits in a smart shutdown for the sessions of poolers is ended fast, and started again."""

import signal
from pathlib import Path

import psycopg
import pytest

from panel.quickstart import supervise
from panel.quickstart.home import Home
from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer
from panel.quickstart.supervise import StopRequested, Supervisor
from tests.live.standbys import until


def test_sessions_that_stay_keep_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restored_signals: None
) -> None:
    monkeypatch.setattr(supervise, "STOPS_WITHIN_S", 0.2)
    home, reports = Home(tmp_path), list[str]()
    home.open()
    with Supervisor(home) as supervisor:
        server = supervisor.start(PostgresServer(tmp_path / "postgres", free_port(), password="smart"))
        server.wait_until_ready()
        assert not server.is_stopping
        with server.connect() as idle:
            server.kill(signal.SIGTERM)
            until(lambda: server.is_stopping)
            with pytest.raises(psycopg.OperationalError, match="the database system is shutting down"):
                server.probe()
            spawn = server.spawn

            def spawned() -> None:
                spawn()
                raise StopRequested

            monkeypatch.setattr(server, "spawn", spawned)
            with pytest.raises(StopRequested):
                supervisor.watch(reports.append)
            with pytest.raises(psycopg.OperationalError):
                idle.execute("SELECT 1")
        server.wait_until_ready()
        assert not server.is_stopping
    assert reports[0] == "postgres has been shutting down for 0 s, so its sessions are ended now"
    assert reports[1].startswith("postgres ended with exit code 0; starting it again in 0.5 s")
    assert len(reports) == 2
