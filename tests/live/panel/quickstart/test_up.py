"""script/up as a newcomer starts it: ready with its demo, once at a time, and gone without a trace."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.analysis.confidence_intervals import ENOUGH_REPEATS
from panel.quickstart import demo, demo_experiment
from panel.quickstart.ports import free_port
from tests.installation import ROOT, Installation, Refused
from tests.programs import HEADS, below, heads, processes

GONE_WITHIN_S = 20


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def installation(home: Path) -> Iterator[Installation]:
    with Installation(home, "--port", str(free_port())) as started:
        yield started


def still_there(pids: set[int]) -> set[int]:
    """Those that run on after the deadline."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := pids & set(processes())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def rows(installation: Installation, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = installation.api.get(path)["results"]
    return found


def test_it_is_ready_when_it_says_so(installation: Installation) -> None:
    with urllib.request.urlopen(f"{installation.url}/healthz/ready", timeout=5) as answer:
        assert answer.status == 200


def test_the_doctor_finds_nothing_wrong(installation: Installation) -> None:
    of_worker = Path(f"/proc/{heads(installation)['worker']}/environ").read_text()
    environment = dict(variable.split("=", 1) for variable in of_worker.split("\0") if variable)
    argv = [sys.executable, "manage.py", "doctor", "--json"]
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    found = {one["subject"]: one for one in json.loads(done.stdout)}
    assert [one for one in found.values() if not one["is_ok"]] == []
    assert done.returncode == 0
    assert {"database", "redis", "worker", "beat", "clock of redis", "queue runs", "disk"} <= set(found)


def test_quickstart_json_is_private_and_complete(installation: Installation) -> None:
    path = installation.home / "quickstart.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(installation.quickstart) == ["password", "token", "url", "username"]


def test_the_demo_is_registered_and_live(installation: Installation) -> None:
    (cluster,) = rows(installation, "clusters/")
    assert (cluster["name"], cluster["protected"], cluster["status"]["state"]) == ("demo", False, "online")
    assert sorted(pooler["kind"] for pooler in rows(installation, "poolers/")) == ["pgbouncer", "pgpool"]
    (pool,) = rows(installation, "pools/")
    assert (pool["name"], pool["mode"], pool["state"]) == ("app", "transaction", "applied")
    assert [run["status"] for run in rows(installation, "runs/")] == ["succeeded"]


def test_a_second_start_says_that_one_runs_and_where(installation: Installation) -> None:
    second = subprocess.run(
        [ROOT / "script" / "up"],
        env={**os.environ, "POOLDECK_HOME": str(installation.home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert second.returncode == 1
    assert f"running already, at {installation.url} (pid {installation.process.pid}" in second.stderr


def test_no_secret_stands_in_a_command_line(installation: Installation) -> None:
    kept = (installation.home / "installation.json").read_text()
    secrets = [word for word in kept.split('"') if len(word) == 32]
    assert len(secrets) == 4
    running = below(installation.process.pid)
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace") for pid in running]
    assert not [command for command in commands if any(secret in command for secret in secrets)]


def test_the_arms_that_need_pgpool_and_a_second_generator_are_measured_on_the_demo(installation: Installation) -> None:
    """Pgpool-II's 32 children fit what the demo's pool leaves of the budget, beside pools of the arms of PgBouncer."""
    deadline = time.monotonic() + 60
    while not any(one["name"].endswith("-2") and one["alive"] for one in rows(installation, "generators/")):
        assert time.monotonic() < deadline, rows(installation, "generators/")
        time.sleep(0.2)
    (cluster,) = rows(installation, "clusters/")
    arms = ["10-scram-none", "10-md5-pgbouncer", "10-scram-pgpool", "10-scram-pgpool_other"]
    form = {"repeats": 1, "options": {"duration": 1, "warm_up": None}, "dataset": {"scale": 1}, "arms": arms}
    asked = installation.api.post("experiments/", {"playbook": "reconnect", "cluster": cluster["id"], **form})
    found = installation.api.wait(f"experiments/{asked['id']}/", "state", {"succeeded", "failed", "cancelled"}, 120)
    assert (found["state"], found["reasons"]) == ("succeeded", [])
    assert {arm["key"]: arm["skipped"] for arm in found["arms"]} == dict.fromkeys(arms, "")
    assert all(run["outcome"] in ("succeeded", "suspect") for arm in found["arms"] for run in arm["runs"]), found[
        "arms"
    ]
    other = found["arms"][-1]
    assert other["label"].endswith("Pgpool-II, other host (but on the same host)")
    runs = rows(installation, f"runs/?experiment={asked['id']}&experiments=true&page_size=50")
    assert {run["generator"].endswith("-2") for run in runs if run["id"] in [one["id"] for one in other["runs"]]} == {
        True
    }


@pytest.mark.slow
def test_a_start_after_the_end_reuses_everything_and_brings_back_nothing(tmp_path: Path) -> None:
    with Installation(tmp_path, "--port", str(free_port())) as first:
        (pool,) = rows(first, "pools/")
        first.api.call("DELETE", f"pools/{pool['id']}/")
        deadline = time.monotonic() + 120
        while rows(first, "pools/") and time.monotonic() < deadline:
            time.sleep(0.2)
        running = below(first.process.pid)
    assert len(running) > 10
    assert still_there(running) == set()
    with Installation(tmp_path, "--port", str(free_port())) as second:
        assert rows(second, "pools/") == []
        assert len(rows(second, "clusters/")) == 1
        assert len(rows(second, "poolers/")) == 2
        assert [run["status"] for run in rows(second, "runs/")] == ["succeeded"]
        assert second.quickstart["token"] == first.quickstart["token"]
        running = below(second.process.pid)
        second.process.send_signal(signal.SIGKILL)
        second.process.wait(5)
        assert still_there(running) == set()


def once_it_answers(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer of the first call that meets no server on its way up; fails after two minutes."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return ask()
        except Refused as refused:
            if refused.status not in (502, 503) or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def all_heads(installation: Installation) -> dict[str, int]:
    """Every program and its process, once all of them run: the second generator is started after the ready line."""
    deadline = time.monotonic() + 60
    while len(found := heads(installation)) < len(HEADS) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert sorted(found) == sorted(HEADS), installation.lines[-20:]
    return found


@pytest.mark.slow
def test_programs_that_are_killed_come_back_and_leave_nothing(tmp_path: Path) -> None:
    """The end of the worker took all of it down within a second, the demo's PostgreSQL included."""
    with Installation(tmp_path, "--port", str(free_port())) as started:
        (pool,) = rows(started, "pools/")
        first = all_heads(started)
        before = below(started.process.pid)
        for pid in first.values():
            os.kill(pid, signal.SIGKILL)
        assert still_there(before) == set()
        all_heads(started)
        asked = {"target": {"pool": pool["id"]}, "engine": "pgbench", "options": {"duration": 1, "clients": 1}}
        run = once_it_answers(lambda: started.api.post("runs/", asked))
        done = started.api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed", "lost"}, 60)
        assert done["status"] == "succeeded", done["error"]
        running = below(started.process.pid)
    assert started.process.returncode == 0
    assert still_there(running) == set()


@pytest.mark.slow
def test_once_prints_its_tables_and_succeeds_only_if_every_arm_is_valid(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "script" / "up", "--once", "--port", str(free_port())],
        env={**os.environ, "POOLDECK_HOME": str(tmp_path), "DJANGO_SETTINGS_MODULE": "another.project"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    arms = [line for line in done.stdout.splitlines() if re.search(r"  (direct|pooled)  ", line)]
    keys = [key for part in demo_experiment.PARTS for key in part.arms]
    assert len(arms) == len(keys) == 5, done.stdout + done.stderr
    valid = {
        key: int(found[1])
        for key, arm in zip(keys, arms, strict=True)
        if (found := re.search(r"  (\d+) of \d+  ", arm))
    }
    assert len(valid) == 5, done.stdout
    refused = [line for line in arms if line.startswith("150 clients, direct  ")]
    assert [bool(re.search(r"  0 of \d+  refused$", line)) for line in refused] == [True], done.stdout
    enough = [valid[key] >= ENOUGH_REPEATS for key in keys if key != "150-direct"]
    assert (done.returncode == 0) == all(enough), done.stdout
    assert "10 clients, SCRAM, PgBouncer: " in done.stdout
    assert "Reproduced: the server refused " in done.stdout
    with closing(sqlite3.connect(tmp_path / "pooldeck.sqlite3")) as database:
        pools = database.execute("SELECT name, state, size FROM pools_pool").fetchall()
        demo_tables = database.execute("SELECT scale FROM benchmarks_dataset WHERE database = 'app'").fetchall()
        left = database.execute("SELECT count(*) FROM benchmarks_experimentresource WHERE removed_at IS NULL")
        assert (pools, demo_tables, left.fetchone()) == ([("app", "applied", 10)], [(demo.SCALE,)], (0,))
