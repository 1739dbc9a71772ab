"""The services of docker/compose.yaml in the image, each by its own command and checked by its own health check.

It runs where POOLDECK_TEST_IMAGE names an image of buildah's, in a network of its own: script/image --test.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import yaml

from core.lib.env import BASE_DIR
from panel.quickstart.servers import PostgresServer, RedisServer
from tests.installation import Api

IMAGE = os.environ.get("POOLDECK_TEST_IMAGE", "")
pytestmark = [
    pytest.mark.skipif(not IMAGE, reason="POOLDECK_TEST_IMAGE names no image: see script/image --test"),
    pytest.mark.timeout(900),
]

PASSWORD, ADMIN_PASSWORD = "of-all-servers", "of-the-admin"
HOSTS = {
    "postgres": "127.0.0.11",
    "demo-postgres": "127.0.0.12",
    "redis": "127.0.0.13",
    "pgbouncer": "127.0.0.14",
    "pgpool": "127.0.0.15",
}
LASTING = ("pgbouncer", "pgpool", "web", "worker", "generator", "beat")
URL = "http://127.0.0.1:8000"
# A process of a container: its own processes and mounts, the image's files and account.
ENTER = """
mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && root=$0 && exec chroot --userspec=pooldeck "$root" \
  sh -c 'cd /app && exec "$@"' sh "$@"
"""


def buildah(*words: str) -> str:
    return subprocess.run(["buildah", *words], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    """The files of a container of the image, which all services share as they share the volume `home`."""
    container = buildah("from", "--pull=false", IMAGE)
    try:
        files = Path(buildah("mount", container))
        names = "".join(f"{address} {name}\n" for name, address in HOSTS.items())
        (files / "etc" / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        yield files
    finally:
        buildah("rm", container)


class Containers:
    """Starts services of compose.yaml, and asks their health checks; their output is shown at the end."""

    def __init__(self, root: Path, logs: Path) -> None:
        self.root, self.logs = root, logs
        self.services: dict[str, Any] = yaml.safe_load((BASE_DIR / "docker" / "compose.yaml").read_text())["services"]
        image = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        self.image_environment = dict(one.split("=", 1) for one in image["Env"])
        self.image_check: list[str] = image["Healthcheck"]["Test"]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, name: str) -> dict[str, str]:
        """What compose gives the service; docker/.env holds the two passwords."""
        given = {"POOLDECK_COMPOSE_PASSWORD": PASSWORD, "POOLDECK_ADMIN_PASSWORD": ADMIN_PASSWORD}
        own = self.services[name]["environment"]
        filled = {key: re.sub(r"\$\{(\w+)[^}]*\}", lambda found: given[found[1]], text) for key, text in own.items()}
        return {"HOME": "/var/lib/pooldeck", **self.image_environment, **given, **filled}

    def spawn(self, name: str, words: list[str], log: Path) -> "subprocess.Popen[bytes]":
        """Start a command in the service's container."""
        argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, str(self.root), *words]
        with log.open("ab") as output:
            return subprocess.Popen(argv, env=self.environment(name), stdout=output, stderr=output)

    def start(self, name: str) -> None:
        """Start the service by its own command."""
        self.running[name] = self.spawn(name, self.services[name]["command"], self.logs / name)

    def complaint(self, name: str) -> str:
        """Run the service's health check once; empty for a service that is well."""
        asked = self.services[name].get("healthcheck", {}).get("test", self.image_check)
        log = self.logs / f"{name}-health"
        log.write_bytes(b"")
        code = self.spawn(name, asked[1:], log).wait(timeout=120)
        return f"{name}: {log.read_text()}" if code else ""

    def wait_until_well(self, name: str, seconds: float = 240) -> None:
        """Ask the health check until it is green."""
        deadline = time.monotonic() + seconds
        while complaint := self.complaint(name):
            assert time.monotonic() < deadline, complaint + (self.logs / name).read_text()
            assert self.running[name].poll() is None, (self.logs / name).read_text()
            time.sleep(0.5)

    def stop(self, name: str) -> None:
        """Kill the first process of the service's container, and so all of them; `unshare` alone would leave it."""
        unshare = self.running[name]
        if unshare.poll() is None:
            for first in psutil.Process(unshare.pid).children():
                first.kill()
        unshare.wait(timeout=60)


@pytest.fixture(scope="module")
def containers(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """All services of compose.yaml, well; PostgreSQL and Redis are this machine's own."""
    folder = tmp_path_factory.mktemp("servers")
    folder.chmod(0o711)
    postgres = PostgresServer(folder / "postgres", 5432, superuser="pooldeck", password=PASSWORD)
    demo = PostgresServer(folder / "demo", 5432, password=PASSWORD)
    redis = RedisServer(folder / "redis", 6379, PASSWORD)
    postgres.host, demo.host, redis.host = HOSTS["postgres"], HOSTS["demo-postgres"], HOSTS["redis"]
    with ExitStack() as stack:
        for server in (postgres, demo, redis):
            stack.enter_context(server)
        with postgres.connect() as session:
            session.execute("CREATE DATABASE pooldeck")
        started = Containers(root, tmp_path_factory.mktemp("logs"))
        for name in ("pgbouncer", "pgpool"):
            started.start(name)
            stack.callback(started.stop, name)
        for name in ("pgbouncer", "pgpool"):
            started.wait_until_well(name)
        started.start("setup")
        code = started.running["setup"].wait(timeout=300)
        assert code == 0, (started.logs / "setup").read_text()
        for name in LASTING[2:]:
            started.start(name)
            stack.callback(started.stop, name)
        yield started
        for name in LASTING:
            print(name, (started.logs / name).read_text()[-2000:])


@pytest.fixture(scope="module")
def api(containers: Containers) -> Api:
    """A client with the admin's token, once every service is well."""
    for name in LASTING:
        containers.wait_until_well(name)
    logins = json.loads((containers.root / "var/lib/pooldeck/quickstart.json").read_text())
    assert (logins["username"], logins["password"]) == ("admin", ADMIN_PASSWORD)
    return Api(URL, logins["token"])


def test_every_service_is_well_by_its_own_health_check(containers: Containers, api: Api) -> None:
    assert [found for name in LASTING if (found := containers.complaint(name))] == []


def test_the_demo_is_applied_and_takes_a_login(containers: Containers, api: Api) -> None:
    (pool,) = api.get("pools/")["results"]
    assert (pool["name"], pool["mode"], pool["state"]) == ("app", "transaction", "applied")
    password = {"host": HOSTS["pgbouncer"], "port": 6432, "user": "app", "password": PASSWORD}
    with psycopg.connect(dbname="app", connect_timeout=5, **password) as session:
        assert session.execute("SELECT 1").fetchone() == (1,)


def test_pgbench_runs_in_the_image(containers: Containers, api: Api) -> None:
    (pool,) = api.get("pools/")["results"]
    deadline = time.monotonic() + 120
    while any(run["status"] in ("queued", "running") for run in api.get("runs/")["results"]):
        assert time.monotonic() < deadline, "the dataset is not prepared"
        time.sleep(0.5)
    asked = {"engine": "pgbench", "target": {"pool": pool["id"]}, "options": {"clients": 2, "duration": 2}}
    run = api.post("runs/", asked)
    found = api.wait(f"runs/{run['id']}/", "status", {"succeeded", "failed", "cancelled", "errored"}, 120)
    assert (found["status"], found["error"]) == ("succeeded", "")
    assert found["summary"]["tps"] > 0


def test_a_service_that_is_gone_is_not_well(containers: Containers, api: Api) -> None:
    containers.stop("web")
    assert "does not answer" in containers.complaint("web")
