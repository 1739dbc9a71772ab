"""What somebody gets who has taken a host that the panel reaches by SSH: nothing of the panel's or of another host."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings

from pools import deployment
from pools.deployment import drift, take_overs
from pools.hosts import kept, keys, ssh
from pools.inventory import hosts
from pools.models import Cluster, Host, Pool, Pooler, RevisionState
from tests.live.conftest import APP_PASSWORD
from tests.live.pools.deployment.by_ssh.test_by_ssh import ask_pool, taken_over
from tests.live.pools.deployment.take_over.conftest import CONSOLE, OperatorsPgBouncer
from tests.live.sshds import SshServer

pytestmark = pytest.mark.django_db(transaction=True)
OF_PANEL = "canary-of-the-panel-6f1d0c"


class Recorder:
    """The subprocess module as pools.hosts.ssh sees it; keeps all that goes to the host, and what comes back."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, argv: list[str], **options: Any) -> Any:
        done = subprocess.run(argv, **options)
        self.seen += ["\0".join(argv).encode(), repr(options["env"]).encode(), options.get("input") or b"", done.stdout]
        return done


@contextmanager
def watching(sshd: SshServer, seen: list[bytes]) -> Iterator[None]:
    """Keep the command lines and environments of all that the panel starts there, as its root could."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            with suppress(psutil.Error):
                for one in psutil.Process(sshd.process.pid).children(recursive=True):
                    with suppress(OSError):
                        seen.extend(Path(f"/proc/{one.pid}/{name}").read_bytes() for name in ("cmdline", "environ"))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def held(*folders: Path) -> Iterator[bytes]:
    """Yield every file of these folders; host_key is the host's own."""
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name != "host_key":
                yield path.read_bytes()


def another_host(host: Host) -> dict[str, str]:
    """Make a second host with a pooler, and return what must not be found on the first."""
    secrets = {name: f"canary-of-{name}-6f1d0c" for name in ("console", "cluster", "role")}
    other = Host(name="db-2", address="127.0.0.2", user="postgres", host_key=host.host_key)
    other.private_key, other.public_key = keys.new_pair()
    other.save(force_insert=True)
    elsewhere = Cluster(name="other", host="127.0.0.2", port=1, admin_user="postgres", sslmode="disable")
    elsewhere.admin_password = secrets["cluster"]
    elsewhere.save(force_insert=True)
    elsewhere.keep_password("app", secrets["role"])
    pooler = Pooler(name="other", host="127.0.0.2", port=1, config_dir="/other", delivery="ssh", ssh_host=other)
    pooler.admin_password = secrets["console"]
    pooler.save(force_insert=True)
    Pool.objects.create(name="theirs", pooler=pooler, cluster=elsewhere, database="app", user="app", size=1)
    return {**secrets, "key of another host": other.private_key, "public key of another host": other.public_key}


def test_a_thief_of_a_host_by_ssh_gets_no_secret_of_another(
    own: OperatorsPgBouncer,
    watched: Pooler,
    cluster: Cluster,
    host: Host,
    sshd: SshServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secrets = another_host(host) | {"key of this host": host.private_key, "secret key": settings.SECRET_KEY}
    secrets |= {"environment": OF_PANEL, "cluster's own login": cluster.admin_password}
    monkeypatch.setenv("POOLDECK_SECRET_KEY", OF_PANEL)
    recorder = Recorder()
    monkeypatch.setattr(ssh, "subprocess", recorder)
    kept.close_all()
    with watching(sshd, recorder.seen):
        hosts.check(host)
        hosts.discover(host)
        assert taken_over(watched).reason == ""
        ask_pool(watched, cluster)
        assert deployment.apply_pooler(watched).state == RevisionState.APPLIED
        recorder.seen += held(own.config_dir, sshd.home)
        drift.check(watched)
        Pool.objects.filter(pooler=watched, name="orders").delete()
        take_overs.request_release(watched)
        take_overs.resume(watched)
    got = b"\0".join([*recorder.seen, *held(own.config_dir, sshd.home)])
    for of_its_own in (APP_PASSWORD, CONSOLE[1], host.public_key, "PATH=/usr/local/sbin", "pooldeck.ini"):
        assert of_its_own.encode() in got  # what was looked at is not empty
    assert [name for name, secret in secrets.items() if _part_of(secret) in got] == []
    for word in (b"SSH_AUTH_SOCK", b"DISPLAY=", b"SSH_TTY"):
        assert word not in got  # nothing leads from there to the panel


def _part_of(secret: str) -> bytes:
    """Return what is of this secret alone: of a private key the line with its secret half."""
    lines = secret.strip().splitlines()
    return (lines[4] if secret.startswith("-----") else lines[0]).encode()
