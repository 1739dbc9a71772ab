"""`script/pooldeck` against a real panel: URIs, gates of runs, comparisons, any request, and its exit codes."""

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User

from core.accounts.models import ApiToken
from panel.quickstart.servers import RedisServer
from pools.models import Pool
from tests.live.panel_programs import TestWeb, TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]
Client = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def web(
    django_db_setup: None, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TestWeb]:
    """The panel's web process."""
    with TestWeb(tmp_path_factory.mktemp("web"), redis_server.url) as web:
        yield web


@pytest.fixture
def client(web: TestWeb, worker: TestWorker, tmp_path: Path) -> Client:
    """The client, logged in by a token from its standard input."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}

    def call(*words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        argv = [ROOT / "script" / "pooldeck", *words]
        return subprocess.run(argv, input=text, env=environment, capture_output=True, text=True, timeout=120)

    user = User.objects.create_user("ci", is_staff=True)
    token = ApiToken.objects.issue(user, "ci", ["admin"])
    done = call("login", web.url, "--token-stdin", text=token)
    assert done.returncode == 0, done.stderr
    stored = tmp_path / "config" / "pooldeck" / "login.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    return call


def test_a_pool_is_listed_and_its_uri_logs_in(client: Client, pool: Pool) -> None:
    listed = client("pools")
    assert re.search(rf"^{pool.name} +{pool.database} ", listed.stdout, re.M), listed
    (shown,) = json.loads(client("pools", "--json").stdout)
    assert shown["id"] == str(pool.pk)
    uri = client("uri", pool.name, "--reveal").stdout.strip()
    with psycopg.connect(uri, autocommit=True) as session:
        assert session.execute("SELECT current_user").fetchone() == (pool.user,)


def test_a_run_in_pairs_is_a_gate(client: Client, pool: Pool, dataset: str) -> None:
    words = ["run", pool.name, "--clients", "2", "--time", "2", "-O", "rate=200", "--pair", "--repeat", "1", "--wait"]
    done = client(*words, "--fail-under", "tps=1", "--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    found = json.loads(done.stdout)
    assert [one["status"] for one in found["runs"]] == ["succeeded", "succeeded"]
    assert len(found["comparison"]["arms"]) == 2
    closed = client(*words, "--fail-under", "1000")
    assert closed.returncode == 1, (closed.stdout, closed.stderr)
    assert re.search(
        r"^gate failed: ratio at least 1000: (it is [\d.]+ without an interval|there is no figure)", closed.stderr, re.M
    )
    slow = client(*words, "--fail-under", "tps=1e9")
    assert re.search(r"^gate failed: run \d+: tps at least 1e\+09: it is [\d.e+]+$", slow.stderr, re.M), slow.stderr
    numbers = [str(one["number"]) for one in found["runs"]]
    assert "VERDICT" in client("compare", *numbers).stdout


def test_a_sweep_compares_its_steps(client: Client, pool: Pool, dataset: str) -> None:
    words = ["run", pool.name, "--sweep-clients", "1,4", "--time", "2", "-O", "rate=200", "--wait", "--json"]
    done = client(*words)
    found = json.loads(done.stdout)
    assert [(one["options"]["clients"], one["status"]) for one in found["runs"]] == [(1, "succeeded"), (4, "succeeded")]
    assert [one["summary"]["clients"] for one in found["runs"]] == [1, 4]
    assert len(found["comparison"]["arms"]) == 2


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["uri", "nowhere"], 2, "There is no pool nowhere"),
        (["compare", "999"], 2, "There is no run 999"),
        (["run", "app", "--fail-under", "ratio=2"], 2, "add --pair"),
        (["run", "app", "--fail-under", "2", "--pair", "--sweep-clients", "1,2"], 2, "leave out --sweep-clients"),
        (["run", "app", "--fail-under", "tps=much"], 2, "use METRIC=NUMBER"),
    ],
)
def test_wrong_usage_is_named(client: Client, words: list[str], code: int, reason: str) -> None:
    done = client(*words)
    assert (done.returncode, reason in done.stderr) == (code, True), done


def test_any_request_can_be_sent_and_its_answer_read_by_programs(client: Client, pool: Pool) -> None:
    sizes = client("api", "PATCH", f"pools/{pool.pk}/", "-d", '{"size": 4}')
    assert (sizes.returncode, json.loads(sizes.stdout)["size"]) == (0, 4), sizes
    made = client("api", "post", "scripts/", "-f", "-", text=json.dumps({"name": "né", "text": "SELECT 1;"}))
    assert (made.returncode, json.loads(made.stdout)["name"]) == (0, "né"), made
    removed = client("api", "DELETE", f"scripts/{json.loads(made.stdout)['id']}/")
    assert (removed.returncode, removed.stdout, removed.stderr) == (0, "", "")
    found = client("api", "GET", "pools/?search=no such pool, né")
    assert json.loads(found.stdout)["results"] == []
    assert client("api", "GET", "/healthz/live").returncode == 0
    assert "pooldeck_" in client("api", "GET", "/metrics").stdout


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["GET", "pools/999999/"], 4, "GET pools/999999/: 404: "),
        (["POST", "pools/", "-d", "{}"], 4, 'POST pools/: 400: {"pooler": ["This field is required."], '),
        (["POST", "pools", "-d", "{}"], 2, "POST pools: 301: the panel redirects to /api/v1/pools/: use that address"),
    ],
)
def test_a_script_can_tell_a_refusal_from_wrong_usage(client: Client, words: list[str], code: int, reason: str) -> None:
    done = client("api", *words)
    assert (done.returncode, done.stdout, reason in done.stderr) == (code, "", True), done
