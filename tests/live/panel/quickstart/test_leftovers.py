"""A PostgreSQL starts again after a power cut or kill -9, whatever it left behind."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from panel.quickstart import leftovers
from panel.quickstart.ports import free_port
from panel.quickstart.programs import ProgramFailed
from panel.quickstart.servers import PostgresServer


@pytest.fixture
def server(tmp_path: Path) -> PostgresServer:
    return PostgresServer(tmp_path / "postgres", free_port(), password="cut")


def test_it_starts_while_its_lock_names_another_process_of_its_account(server: PostgresServer) -> None:
    with server:
        kept = (server.cluster_folder / "postmaster.pid").read_text()
        owner = server.home.owner()
    bystander = subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None)
    try:
        lock = server.cluster_folder / "postmaster.pid"
        lock.write_text(kept.replace(kept.split("\n")[0], str(bystander.pid), 1))
        with server:
            server.probe()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_it_starts_while_a_backend_of_the_killed_one_works_on(server: PostgresServer) -> None:
    with server:
        session = server.connect()
        backend = session.info.backend_pid
        session.pgconn.send_query(b"SELECT count(*) FROM (SELECT generate_series(1, 2000000000)) numbers")
        server.kill(signal.SIGKILL)
        assert server.process is not None
        server.process.wait()
        assert backend in leftovers.working_in(server.cluster_folder)
        session.close()
        server.process = None
        with server:
            assert backend not in leftovers.working_in(server.cluster_folder)
            server.probe()


def test_a_server_that_runs_there_is_left_alone(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "ENDS_WITHIN_S", 0.2)
    with server:
        with pytest.raises(ProgramFailed, match="a PostgreSQL runs in"):
            leftovers.clear(server.cluster_folder)
        server.probe()
