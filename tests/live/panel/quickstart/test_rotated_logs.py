"""The log of a real PgBouncer rotates while it serves, and has each login."""

from pathlib import Path

import pytest

from panel.quickstart.home import Home
from panel.quickstart.ports import free_port
from panel.quickstart.servers import PgBouncerServer
from panel.quickstart.supervise import Supervisor

pytestmark = pytest.mark.usefixtures("restored_signals")
LOGINS = 120


def test_each_login_is_in_a_log_that_rotates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOLDECK_LOG_MAX_BYTES", "8192")
    monkeypatch.setenv("POOLDECK_LOG_BACKUP_COUNT", "20")
    home = Home(tmp_path)
    home.open()
    with Supervisor(home) as supervisor:
        pgbouncer = supervisor.start(
            PgBouncerServer(tmp_path / "pgbouncer", free_port(), "pooldeck", "console-password")
        )
        pgbouncer.wait_until_ready()
        for _ in range(LOGINS):
            with pgbouncer.connect() as console:
                console.execute("SHOW VERSION")
    logs = [file.read_text() for file in home.log_folder.glob("pgbouncer.log*")]
    assert len(logs) > 2
    assert max(map(len, logs)) <= 8192
    assert sum(log.count("login attempt: db=pgbouncer") for log in logs) >= LOGINS
    assert "got SIG" in (home.log_folder / "pgbouncer.log").read_text()  # the last lines, of its end
