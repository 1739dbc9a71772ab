"""Fifteen seconds without the metadata database: runs go on, the API and the pages say what is missing."""

import itertools
import json
import re
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from panel.quickstart.panel_programs import Worker
from panel.quickstart.ports import free_port
from panel.quickstart.servers import PostgresServer
from tests.installation import Installation

AWAY_S = 17  # longer than a run's lease


def answer(started: Installation, path: str, **headers: str) -> tuple[int, str, str]:
    """Status, Retry-After and body."""
    asked = urllib.request.Request(started.url + path, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=30) as found:
            return found.status, found.headers.get("Retry-After", ""), found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Retry-After", ""), error.read().decode()


def assert_periodic_tasks_logged_lines(log: Path) -> None:
    """Each periodic task told of the outage and of its end once in each process of the worker, without a traceback."""
    text = log.read_text()
    waits = Counter(re.findall(r"(\S+) waits for the metadata database: ", text))
    goes_on = Counter(re.findall(r"(\S+) goes on: the metadata database was away", text))
    assert len(waits) >= 5
    assert max(waits.values()) <= Worker.children
    assert goes_on
    assert goes_on <= waits
    assert "Traceback" not in text


@pytest.mark.slow
def test_a_run_outlives_an_outage_of_the_metadata_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = PostgresServer(tmp_path / "metadata", free_port(), password="of-the-panel")
    home = tmp_path / "home"
    home.mkdir()
    with database:
        database.create_owner_and_database("pooldeck", "word", "pooldeck")
        monkeypatch.setenv("DATABASE_URL", f"postgresql://pooldeck:word@127.0.0.1:{database.port}/pooldeck")
        with Installation(home, "--port", str(free_port())) as started:
            asked: dict[str, Any] = {"engine": "pgbench", "options": {"duration": 40, "clients": 2}}
            (pool,) = started.api.get("pools/")["results"]
            run = started.api.post("runs/", asked | {"target": {"pool": pool["id"]}})
            started.api.wait(f"runs/{run['id']}/", "status", {"running"}, 30)
            time.sleep(4)
            database.stop()
            away_at = time.monotonic()
            status, retry_after, body = answer(
                started, f"/api/v1/runs/{run['id']}/", Authorization=f"Bearer {started.api.token}"
            )
            assert (status, retry_after) == (503, "5")
            assert "metadata database does not answer" in json.loads(body)["detail"]
            status, retry_after, body = answer(started, "/pools/", Cookie="sessionid=" + "a" * 32)
            assert (status, retry_after, "database does not answer" in body) == (503, "5", True), body[:500]
            time.sleep(max(0.0, AWAY_S - (time.monotonic() - away_at)))
            database.start()
            done = started.api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed", "lost"}, 90)
            assert (done["status"], done["validity"]) == ("succeeded", "valid"), (done["error"], done["reasons"])
            samples = started.api.get(f"runs/{run['id']}/samples/?page_size=200")["results"]
            times = [sample["t"] for sample in samples]
            assert len(times) >= 38
            assert max(after - before for before, after in itertools.pairwise(times)) < 3
            assert_periodic_tasks_logged_lines(home / "log" / "worker.log")
