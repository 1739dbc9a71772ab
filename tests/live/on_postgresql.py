"""Runs files of tests with the metadata in a PostgreSQL of its own: SQLite has no row locks to try."""

import os
import subprocess
import sys
from pathlib import Path

from panel.quickstart.servers import PostgresServer, free_port
from tests.installation import ROOT
from tests.live.conftest import FAST

OWN = ("POOLDECK_HOME", "POOLDECK_TEST_WORKER")  # of the outer tests


def assert_passes(home: Path, *tried: Path) -> None:
    """Start a PostgreSQL in this folder and run the files there; all tests have to pass, and none may be skipped."""
    with PostgresServer(home, free_port(), password="of-metadata", settings=dict(FAST)) as server:
        url = f"postgresql://{server.superuser}:{server.password}@127.0.0.1:{server.port}/postgres"
        others = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_") and name not in OWN}
        argv = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", *map(str, tried)]
        done = subprocess.run(argv, env=others | {"DATABASE_URL": url}, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout
