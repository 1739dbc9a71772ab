"""Take-overs and releases while people edit, on PostgreSQL, which locks rows: `at_once` has what is tried there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from panel.quickstart.servers import PostgresServer, free_port
from tests.installation import ROOT
from tests.live.conftest import FAST

TRIED = ROOT / "tests/live/pools/deployment/take_over/at_once.py"
OWN = ("POOLDECK_HOME", "POOLDECK_TEST_WORKER")


@pytest.mark.slow
def test_people_and_workers_at_once_on_postgresql(tmp_path: Path) -> None:
    with PostgresServer(tmp_path / "metadata", free_port(), password="of-metadata", settings=dict(FAST)) as server:
        url = f"postgresql://{server.superuser}:{server.password}@127.0.0.1:{server.port}/postgres"
        others = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_") and name not in OWN}
        argv = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", str(TRIED)]
        done = subprocess.run(argv, env=others | {"DATABASE_URL": url}, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
