"""A settings profile restarts the demo's PostgreSQL and is taken back; script/up survives and leaves nothing behind."""

from pathlib import Path

import psycopg
import pytest

from panel.quickstart.home import Home
from panel.quickstart.ports import free_port
from panel.quickstart.restarts import START_LIMIT_BURST
from panel.quickstart.servers import PostgresServer
from tests.installation import Installation
from tests.live.panel.quickstart.test_up import still_there
from tests.programs import HEADS, below, heads

CONNECTIONS = "83"
RUNS = START_LIMIT_BURST // 2 + 1  # two restarts each: more ends than a failing program may have


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def server_of(home: Home) -> PostgresServer:
    home.read()
    return PostgresServer(home.path, home.kept("ports", "postgres"), password=home.kept("passwords", "postgres"))


def max_connections(server: PostgresServer) -> str:
    with server.connect() as session:
        (value,) = session.execute("SHOW max_connections").fetchall()[0]
    return str(value)


def log_in_through(port: int, server: PostgresServer) -> None:
    login = {"host": server.host, "user": server.superuser, "password": server.password, "dbname": "postgres"}
    with psycopg.connect(**login, port=port, connect_timeout=5) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.slow
def test_a_profile_restarts_the_demo_and_is_taken_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POOLDECK_RESTART_FILE", raising=False)
    with Installation(home.path, "--port", str(free_port())) as started:
        server, api = server_of(home), started.api
        before, (cluster,) = max_connections(server), api.get("clusters/")["results"]
        assert before != CONNECTIONS
        first = heads(started)["postgres"]
        api.post("settings-profiles/", {"name": "restarts", "values": {"max_connections": CONNECTIONS}})
        for _ in range(RUNS):
            options = {"duration": 1, "clients": 1, "settings_profile": "restarts"}
            target = {"cluster": cluster["id"], "database": "app", "user": "app"}
            run = api.post("runs/", {"target": target, "engine": "pgbench", "options": options})
            done = api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed", "lost"}, 240)
            assert done["status"] == "succeeded", (done["error"], started.lines[-20:])
            assert done["conditions"]["settings_profile"]["values"] == {"max_connections": CONNECTIONS}
        assert max_connections(server) == before
        assert sorted(heads(started)) == sorted(HEADS)
        assert heads(started)["postgres"] != first
        assert sum("postgres is restarted on request" in line for line in started.lines) == 2 * RUNS
        log_in_through(home.kept("ports", "pgpool"), server)
        running = below(started.process.pid)
    assert started.process.returncode == 0
    assert still_there(running) == set()
    assert not home.restart_request("postgres").exists()
    assert (home.path / "restart.toml").stat().st_mode & 0o777 == 0o600
