"""The path of a script through the REST API alone, with real servers and a worker."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from rest_framework.test import APIClient

from panel.quickstart.servers import PgBouncerServer, PostgresServer
from pools.models import Cluster
from tests.callers import bearer
from tests.live.benchmarks.conftest import LASTING, QUICK
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
API = "/api/v1"
ENDED = {"succeeded", "failed", "cancelled", "timed_out", "lost"}


class Script:
    """A script with a token of every scope; each call must answer as expected."""

    def __init__(self) -> None:
        self.client: APIClient = bearer()

    def get(self, path: str, status: int = 200, **query: str) -> Any:
        answer = self.client.get(f"{API}{path}", query)
        assert answer.status_code == status, answer.content
        return answer.json()

    def post(self, path: str, body: dict[str, Any] | None = None, status: int = 201) -> Any:
        answer = self.client.post(f"{API}{path}", body or {})
        assert answer.status_code == status, answer.content
        return answer.json()

    def until(self, path: str, condition: Callable[[Any], bool], seconds: float = 40.0) -> Any:
        deadline = time.monotonic() + seconds
        while not condition(found := self.get(path)):
            assert time.monotonic() < deadline, f"{path} after {seconds} s: {found}"
            time.sleep(0.1)
        return found

    def register(self, postgres: PostgresServer) -> Any:
        login = {"admin_user": postgres.superuser, "admin_password": postgres.password, "sslmode": "disable"}
        address = {"name": "scripted", "host": postgres.host, "port": postgres.port}
        return self.post("/clusters/", {**address, **login, "protected": False})

    def front(self, pgbouncer: PgBouncerServer) -> Any:
        login = {"admin_user": pgbouncer.admin_user, "admin_password": pgbouncer.admin_password}
        place = {"host": pgbouncer.host, "port": pgbouncer.port, "config_dir": str(pgbouncer.config_dir)}
        return self.post("/poolers/", {"name": "front", "kind": "pgbouncer", **place, **login})

    def pool(self, pooler: Any, cluster: Any, database: str, size: int = 2) -> Any:
        entry = {"name": "scripted", "pooler": pooler["id"], "cluster": cluster["id"], "database": database}
        made = self.post("/pools/", entry | {"user": APP_ROLE, "user_password": APP_PASSWORD, "size": size})
        return self.until(f"/pools/{made['id']}/", lambda pool: pool["state"] != "pending")

    def ended(self, run: Any) -> Any:
        return self.until(f"/runs/{run['id']}/", lambda found: found["status"] in ENDED)


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    """A database of the role `app` for these scripts alone."""
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "scripted")
    return "scripted"


@pytest.fixture
def script(transactional_db: None) -> Script:
    return Script()


def test_a_script_registers_pools_runs_and_compares(
    script: Script, worker: TestWorker, postgres: PostgresServer, pgbouncer: PgBouncerServer, database: str
) -> None:
    cluster = script.register(postgres)
    assert (cluster["status"]["state"], cluster["status"]["available_connections"]) == ("online", 97)
    assert database in [row["name"] for row in script.get(f"/clusters/{cluster['id']}/databases/")["results"]]
    assert APP_ROLE in [row["name"] for row in script.get(f"/clusters/{cluster['id']}/users/")["results"]]

    pool = script.pool(script.front(pgbouncer), cluster, database)
    assert (pool["state"], pool["state_reason"]) == ("applied", "")
    uri = script.get(f"/pools/{pool['id']}/connection/", reveal="1")["text"]
    with psycopg.connect(uri, connect_timeout=5) as session:
        assert session.execute("SELECT current_user").fetchone() == (APP_ROLE,)
    assert script.get(f"/clusters/{cluster['id']}/")["status"]["allocated_connections"] == 2

    prepare = {
        "target": {"cluster": cluster["id"], "database": database},
        "purpose": "prepare",
        "options": {"scale": 1},
    }
    prepared = script.ended(script.post("/runs/", prepare | {"confirm": database}))
    assert (prepared["status"], prepared["error"], prepared["progress_percent"]) == ("succeeded", "", 100.0)

    first = script.post("/runs/", {"target": {"pool": pool["id"]}, "options": LASTING, "pair": True})
    runs = script.until(
        f"/runs/?group={first['group']}&ordering=number",
        lambda page: {run["status"] for run in page["results"]} <= ENDED,
    )["results"]
    assert [(run["target"]["pool"], run["status"], run["error"]) for run in runs] == [
        (None, "succeeded", ""),
        (pool["id"], "succeeded", ""),
    ]
    assert runs[0]["finished_at"] <= runs[1]["started_at"]
    assert all(run["summary"]["tps"] > 50 and APP_PASSWORD not in str(run) for run in runs)
    assert script.get(f"/runs/{runs[1]['id']}/samples/")["count"] >= 1
    log = script.get(f"/runs/{runs[1]['id']}/log/")
    again = script.post("/runs/import/", {"text": log["stderr"] + log["stdout"], "name": "the same, pasted"})
    assert again["summary"]["tps"] == runs[1]["summary"]["tps"]


def test_what_a_pooler_has_and_shows(
    script: Script, worker: TestWorker, postgres: PostgresServer, pgbouncer: PgBouncerServer, database: str
) -> None:
    pooler = script.front(pgbouncer)
    assert (pooler["state"], pooler["error"]) == ("online", "")
    pool = script.pool(pooler, script.register(postgres), database)
    (revision,) = script.get(f"/poolers/{pooler['id']}/revisions/")["results"]
    assert (revision["state"], revision["number"]) == ("applied", 1)
    assert revision["steps"]
    config = script.get(f"/poolers/{pooler['id']}/config/")
    assert (config["state"], config["revision"]) == ("in sync", 1)
    text = "".join(file["content"] for file in config["files"])
    assert pool["name"] in text
    assert APP_PASSWORD not in text
    assert "console-password" not in text
    rows = script.get(f"/poolers/{pooler['id']}/show/databases/")["results"]
    assert {"scripted", "pgbouncer"} <= {row["name"] for row in rows}
    for word in ("pools", "stats", "clients", "servers", "config"):
        assert script.get(f"/poolers/{pooler['id']}/show/{word}/")["count"] >= 1 or word == "servers"

    script.client.delete(f"{API}/pools/{pool['id']}/")
    gone = f"/poolers/{pooler['id']}/show/databases/"
    script.until(gone, lambda page: "scripted" not in {row["name"] for row in page["results"]})


def test_changes_by_hand_stay_until_the_order_to_overwrite_them(
    script: Script, worker: TestWorker, postgres: PostgresServer, pgbouncer: PgBouncerServer, database: str
) -> None:
    pooler = script.front(pgbouncer)
    pool = script.pool(pooler, script.register(postgres), database)
    here, config = f"/pools/{pool['id']}/", f"/poolers/{pooler['id']}/config/"
    for path in Path(pgbouncer.config_dir).iterdir():
        if f"pool_size={pool['size']}" in (text := path.read_text()):
            path.write_text(text.replace(f"pool_size={pool['size']}", "pool_size=9"))
    assert script.get(config)["state"] == "drifted"
    script.client.patch(f"{API}{here}", {"size": 4})
    waiting = script.until(here, lambda found: found["state_reason"] != "")
    assert waiting["state"] == "pending"
    assert "drift=overwrite" in waiting["state_reason"]
    script.post(f"/poolers/{pooler['id']}/apply/", {"drift": "ignore"}, status=400)
    script.post(f"/poolers/{pooler['id']}/apply/", {"drift": "overwrite"}, status=202)
    assert script.until(here, lambda found: found["state"] != "pending")["state"] == "applied"
    assert script.get(config)["state"] == "in sync"


def test_cancelling_ends_a_running_run_and_keeps_its_samples(
    script: Script, worker: TestWorker, postgres: PostgresServer, database: str, dataset: str
) -> None:
    (cluster,) = script.get("/clusters/")["results"]
    run = script.post(
        "/runs/", {"target": {"cluster": cluster["id"], "database": dataset}, "options": {"duration": 60, "rate": 50}}
    )
    script.until(f"/runs/{run['id']}/samples/", lambda page: page["count"] >= 1)
    script.post(f"/runs/{run['id']}/cancel/", status=200)
    ended = script.ended(run)
    assert (ended["status"], ended["validity"]) == ("cancelled", "incomplete")
    assert script.get(f"/runs/{run['id']}/samples/")["count"] >= 1
    script.post(f"/runs/{run['id']}/cancel/", status=200)


def test_equal_runs_follow_each_other_in_one_group(
    script: Script, worker: TestWorker, cluster: Cluster, dataset: str
) -> None:
    target = {"cluster": str(cluster.pk), "database": dataset}
    asked = {"target": target, "options": QUICK, "repeat": 2, "name": "twice", "tags": ["b", "a", "b"]}
    first = script.post("/runs/", asked)
    runs = script.get("/runs/", group=first["group"], ordering="number")["results"]
    assert [(run["number"] - first["number"], run["name"]) for run in runs] == [(0, "twice"), (1, "twice")]
    assert runs[0]["options"] == runs[1]["options"]
    assert [first["tags"], *(run["tags"] for run in runs)] == [["a", "b"]] * 3
    ended = [script.ended(run) for run in runs]
    assert [run["status"] for run in ended] == ["succeeded", "succeeded"]
    assert ended[0]["finished_at"] <= ended[1]["started_at"]


def test_a_run_that_writes_needs_the_name_on_a_protected_cluster(
    script: Script, worker: TestWorker, cluster: Cluster, dataset: str
) -> None:
    guarded = script.client.patch(f"{API}/clusters/{cluster.pk}/", {"protected": True})
    assert guarded.json()["protected"] is True
    run = {"target": {"cluster": str(cluster.pk), "database": dataset}, "options": QUICK | {"builtin": "tpcb-like"}}
    refused = script.post("/runs/", run, status=400)
    assert dataset in refused["detail"]
    assert script.ended(script.post("/runs/", run | {"confirm": dataset}))["status"] == "succeeded"


def test_generators_are_seen_by_their_heartbeats(script: Script, worker: TestWorker) -> None:
    found = script.until("/generators/", lambda page: page["count"])["results"]
    assert [(row["alive"], row["run"]) for row in found if row["name"] == "local"] == [(True, None)]
    ready = script.client.get("/healthz/ready")
    assert (ready.status_code, ready.json()["down"]) == (503, ["beat"])  # none runs here


def test_a_request_sent_twice_with_its_key_starts_one_run(script: Script, cluster: Cluster, dataset: str) -> None:
    asked = {"target": {"cluster": str(cluster.pk), "database": dataset}, "options": QUICK, "repeat": 2}
    key = {"HTTP_IDEMPOTENCY_KEY": uuid.uuid4().hex}
    first = script.client.post(f"{API}/runs/", asked, **key)
    again = script.client.post(f"{API}/runs/", asked, **key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert script.get("/runs/", group=first.json()["group"])["count"] == 2


def test_a_queue_that_is_down_saves_nothing(script: Script, cluster: Cluster, dataset: str, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    script.post("/runs/", {"target": {"cluster": str(cluster.pk), "database": dataset}}, status=503)
    assert script.get("/runs/", purpose="load")["count"] == 0
    assert script.client.get("/healthz/ready").json()["down"] == ["redis", "worker", "beat"]
