"""What somebody gets who has taken a host that a load runs on by SSH: the login of that load, and nothing else.

A worker there would hold the panel's keys and its logins to the metadata database and to Redis; with these, a thief
decrypts the password of every cluster, writes a session, takes the tasks of other hosts, and stops other workers.
"""

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from benchmarks.generators import registry
from benchmarks.models import Run, Status
from benchmarks.processes import host_machine
from pools.hosts import kept, ssh
from pools.models import Cluster, Host
from tests.live.benchmarks.by_ssh.test_machine import until
from tests.live.benchmarks.by_ssh.test_runs import LONG, homes, in_thread, submitted
from tests.live.conftest import APP_PASSWORD
from tests.live.pools.deployment.by_ssh.test_thief import another_host, watching
from tests.live.sshds import SshServer

OF_PANEL = "canary-of-the-panel-5b7e21"
# What a process has to hold to do what each of the four needs; a name's value is the panel's own.
NEEDED = {
    "decrypt a password": ("POOLDECK_KEYS", "DATABASE_URL"),
    "write a session": ("POOLDECK_SECRET_KEY", "DATABASE_URL"),
    "take another host's tasks": ("REDIS_URL",),
    "stop another worker": ("REDIS_URL",),
}


class Recorder:
    """The subprocess module as the two modules see it that speak to a host; keeps what goes there and comes back."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, argv: list[str], **options: Any) -> Any:
        done = subprocess.run(argv, **options)
        self.seen += ["\0".join(argv).encode(), repr(options["env"]).encode(), options.get("input") or b"", done.stdout]
        return done


def files_of(run: Run) -> Iterator[bytes]:
    """Yield every file of a run's folders there, as the account's owner can read them."""
    for home in homes(run):
        yield from (path.read_bytes() for path in home.rglob("*") if path.is_file())


@pytest.fixture
def of_the_panel(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Give each variable that opens the panel a value of its own, which nothing there may hold."""
    names = {name for needed in NEEDED.values() for name in needed}
    values = {name: f"{OF_PANEL}-{name}" for name in sorted(names)}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


@pytest.mark.usefixtures("in_this_process")
def test_a_thief_of_a_host_that_runs_loads_gets_the_login_of_its_load_alone(
    cluster: Cluster,
    dataset: str,
    host: Host,
    sshd: SshServer,
    of_the_panel: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secrets = another_host(host) | {"key of this host": host.private_key, "secret key": settings.SECRET_KEY}
    secrets |= {"cluster's own login": cluster.admin_password, "redis": settings.REDIS_URL}
    secrets |= {f"key {number}": key for number, key in enumerate(settings.POOLDECK_KEYS)}
    recorder = Recorder()
    for module in (ssh, host_machine):
        monkeypatch.setattr(module, "subprocess", recorder)
    kept.close_all()
    with watching(sshd, recorder.seen):
        run = submitted(cluster, dataset, registry.add_host(host), user="app", **LONG)
        thread = in_thread(run)
        assert until(run.samples.exists)
        assert homes(run)
        recorder.seen += files_of(run)
        run.request_cancel()
        thread.join(20)
    run.refresh_from_db()
    assert run.status == Status.CANCELLED
    got = b"\0".join([*recorder.seen, *files_of(run)])
    for of_its_own in (APP_PASSWORD, "pgbench", "PATH="):
        assert of_its_own.encode() in got  # what was looked at is not empty
    assert [name for name, secret in secrets.items() if _part_of(secret) in got] == []
    assert [act for act, names in NEEDED.items() if any(of_the_panel[name].encode() in got for name in names)] == []


def _part_of(secret: str) -> bytes:
    """Return what is of this secret alone: of a private key the line with its secret half."""
    lines = secret.strip().splitlines()
    return (lines[4] if secret.startswith("-----") else lines[0]).encode()
