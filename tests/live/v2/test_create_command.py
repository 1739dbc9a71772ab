"""A cluster that the operator's command makes: from the create to a login through its pool, and to its deletion."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import pytest
from django.utils import timezone

from core.lib.env import BASE_DIR
from panel.quickstart.servers import free_port
from pools.models import Cluster, ClusterCreation, CreationState, Pooler, ShelfEntry
from tests.live.panel_programs import TestWeb, TestWorker
from tests.live.v2 import made_cluster
from tests.live.v2.conftest import Answer, Managed, serving
from tests.live.v2.test_life import logged_in_as
from tests.pools.managed_api.schema import check

pytestmark = pytest.mark.django_db(transaction=True)
REGION = "nyc1"
FAILING = "print('no server is left in nyc1', file=sys.stderr); sys.exit(4)"
RUBBISH = "print('made-secret, but no JSON')"
HANGING = "open({folder!r} + '/hanging', 'w').write(str(os.getpid())); time.sleep(600)"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where the command keeps its server, in a place that the server's account can enter."""
    with TemporaryDirectory(prefix="pooldeck-made-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        if (Path(name) / "pid").exists():
            made_cluster.delete(Path(name))


@pytest.fixture(scope="module")
def create_file(folder: Path) -> Path:
    """One table for each way in which a command ends; only `real` has a command that deletes."""
    real = ["env", f"PYTHONPATH={BASE_DIR}", sys.executable, "-m", "tests.live.v2.made_cluster"]
    where, port = str(folder), str(free_port())
    programs = {"failing": FAILING, "rubbish": RUBBISH, "hanging": HANGING, "slow": HANGING}
    commands = {
        size: [sys.executable, "-c", "import os, sys, time; " + program.format(folder=where)]
        for size, program in programs.items()
    }
    commands["real"] = [*real, "make", where, port]
    more = {"hanging": {"timeout_s": 2}, "real": {"delete": [*real, "delete", where, port], "versions": ["15"]}}
    lines: list[str] = []
    for size, command in commands.items():
        values = {"size": size, "region": REGION, "command": command} | more.get(size, {})
        lines += ["[[create]]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    path = folder / "create.toml"
    path.write_text("\n".join(lines))
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def lasting_panel(
    lasting_worker: TestWorker, create_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestWeb]:
    """A panel and its worker that have the file; the next module's worker is started without it."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("POOLDECK_CREATE_FILE", str(create_file))
        restart(lasting_worker)
        with serving(lasting_worker.redis_url, tmp_path_factory) as web:
            yield web
    lasting_worker.stop()


def restart(worker: TestWorker) -> None:
    worker.kill()
    worker.stop()
    worker.log_path.unlink()
    worker.start()


def until(condition: Callable[[], Any], within_s: float) -> Any:
    """Wait for it and return it; fails at the deadline."""
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, condition
        time.sleep(0.05)
    return found


def create(managed: Managed, size: str) -> dict[str, Any]:
    asked = {"name": size, "engine": "pg", "version": "15", "size": size, "region": REGION, "num_nodes": 1}
    answer = managed.send("POST", "databases", asked | {"rules": None, "tags": ["prod"]})
    assert answer.status == 201, answer
    made: dict[str, Any] = check("database", answer.body)["database"]
    assert (made["status"], made["name"], made["size"]) == ("creating", size, size)
    return made


def settled(managed: Managed, made: dict[str, Any]) -> Answer:
    """The first answer that is not `creating`, as clients that poll get it."""

    def read() -> Answer | None:
        answer = managed.send("GET", f"databases/{made['id']}")
        return None if answer.status == 200 and answer.body["database"]["status"] == "creating" else answer

    found: Answer = until(read, 120)
    return found


def test_a_cluster_is_made_used_and_deleted(
    managed: Managed, folder: Path, pooler: Pooler, worker: TestWorker, fresh_name: str
) -> None:
    begun = time.monotonic()
    made = create(managed, "real")
    assert time.monotonic() - begun < 20  # it does not wait for initdb
    path = f"databases/{made['id']}"
    online = check("database", settled(managed, made).body)["database"]
    assert (online["id"], online["status"], online["version"]) == (made["id"], "online", "15")
    assert logged_in_as(online["connection"]["uri"]) == ("postgres", "postgres")
    asked = json.loads((folder / "make").read_text())
    assert {name: asked[name] for name in ("id", "name", "size", "region", "version", "num_nodes", "tags")} == {
        name: made[name] for name in ("id", "name", "size", "region", "version", "num_nodes", "tags")
    }

    for word in ("users", "dbs"):
        assert managed.send("POST", f"{path}/{word}", {"name": fresh_name}).status == 201
    pool = {"name": "web", "user": fresh_name, "db": fresh_name, "mode": "session", "size": 2}
    answer = managed.send("POST", f"{path}/pools", pool)
    assert answer.status == 201, answer
    assert logged_in_as(answer.body["pool"]["connection"]["uri"]) == (fresh_name, fresh_name)

    assert [managed.send("DELETE", path).status for _ in range(2)] == [204, 404]
    until(lambda: not Cluster.objects.exists(), 60)
    assert [model.objects.count() for model in (ShelfEntry, ClusterCreation)] == [0, 0]
    asked = json.loads((folder / "delete").read_text())
    assert (asked["id"], asked["port"]) == (made["id"], online["connection"]["port"])
    assert not (folder / "home").exists()
    assert made_cluster.PASSWORD not in worker.log


def test_commands_that_fail_are_reported_to_those_who_wait(managed: Managed, worker: TestWorker) -> None:
    reasons = {
        "failing": "the command ended with code 4: no server is left in nyc1",
        "rubbish": "the command printed no JSON object on its standard output",
        "hanging": "the command did not end within 2 s",
    }
    made = {size: create(managed, size) for size in reasons}
    for size, reason in reasons.items():
        answer = settled(managed, made[size])
        assert answer.status == 409, answer
        assert answer.body["message"] == f"cluster {size} could not be created: {reason}"
        create(managed, size)  # the name is free again
    assert not Cluster.objects.exists()
    assert made_cluster.PASSWORD not in worker.log


def test_a_worker_that_is_killed_ends_the_command_and_the_request(
    managed: Managed, worker: TestWorker, folder: Path
) -> None:
    (folder / "hanging").unlink(missing_ok=True)
    made = create(managed, "slow")
    pid = int(until((folder / "hanging").exists, 30) and until((folder / "hanging").read_text, 5))
    restart(worker)
    until(lambda: not psutil.pid_exists(pid), 20)
    assert managed.get(f"databases/{made['id']}")["database"]["status"] == "creating"
    ClusterCreation.objects.update(leased_until=timezone.now())  # instead of waiting for it
    answer = settled(managed, made)
    assert (answer.status, "the worker ended while the command ran" in answer.body["message"]) == (409, True)
    assert ClusterCreation.objects.get().state == CreationState.FAILED
