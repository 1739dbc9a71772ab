"""Rotations of metadata in SQLite and PostgreSQL, killed in the middle, and starts without a needed key."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from core.lib.crypto import fingerprint
from panel.quickstart.servers import PostgresServer
from tests.installation import ROOT

ROLES = 4_000
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
FILL = f"""
from pools.models import Cluster, RolePassword
from core.installation import known_keys
cluster = Cluster.objects.create(name="orders", host="db", port=5432, admin_user="postgres")
rows = [RolePassword(cluster=cluster, role=f"role{{n}}") for n in range({ROLES})]
for row in rows:
    row.password = "word"
RolePassword.objects.bulk_create(rows)
known_keys.check_at_start()
"""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # ten processes, one after the other
TOKENS = "SELECT sealed_password FROM pools_rolepassword"


class Metadata:
    """A migrated metadata database full of secrets under the old key, and the panel's commands on it."""

    def __init__(self, url: str, home: Path, tokens: Callable[[], list[str]]) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
        self.environment = kept | {
            "DATABASE_URL": url,
            "POOLDECK_HOME": str(home),
            "REDIS_URL": "redis://127.0.0.1:1/0",
        }
        self.environment |= {"DJANGO_SETTINGS_MODULE": "panel.settings", "POOLDECK_SECRET_KEY": "x" * 60}
        self.tokens = tokens
        for words in (("migrate", "--verbosity=0"), ("shell", "--verbosity=0", "-c", FILL)):
            assert self.managed(*words, keys=OLD).returncode == 0

    def managed(self, *words: str, keys: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "manage.py", *words, keys=keys)

    def run(self, *words: str, keys: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment | {"POOLDECK_KEYS": keys}
        return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)

    def of_old_key(self) -> int:
        """How many tokens the old key opens; every other one is of the new key."""
        old, both = Fernet(OLD), MultiFernet([Fernet(NEW), Fernet(OLD)])
        texts = {token: both.decrypt(token) for token in self.tokens()}
        assert len(texts) == ROLES
        return sum(_opens(old, token) for token in texts)

    def kill_a_rotation(self, left_before: set[str]) -> None:
        """Kill one as soon as it has committed a batch."""
        words = [sys.executable, "manage.py", "rotate_keys"]
        environment = self.environment | {"POOLDECK_KEYS": f"{NEW},{OLD}"}
        with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
            while left_before <= set(self.tokens()):
                assert process.poll() is None, "it ended before a batch of its was seen"
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL


def _opens(key: Fernet, token: str) -> bool:
    try:
        key.decrypt(token)
    except InvalidToken:
        return False
    return True


@pytest.fixture(params=["sqlite", "postgresql"])
def metadata(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Metadata]:
    if request.param == "sqlite":
        path = tmp_path / "pooldeck.sqlite3"

        def tokens() -> list[str]:
            with closing(sqlite3.connect(path)) as session:
                return [token for (token,) in session.execute(TOKENS)]

        yield Metadata(f"sqlite:///{path}", tmp_path, tokens)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.connect() as session:
        session.execute("CREATE DATABASE rotated")
    login = f"{server.superuser}:{server.password}@{server.host}:{server.port}"
    with psycopg.connect(f"postgresql://{login}/rotated", autocommit=True) as reading:
        yield Metadata(
            f"postgresql://{login}/rotated", tmp_path, lambda: [token for (token,) in reading.execute(TOKENS)]
        )
    with server.connect() as session:
        session.execute("DROP DATABASE rotated WITH (FORCE)")


STARTS = {
    "web": ("-m", "panel.web_server", "--port", "0"),
    "beat": ("-m", "celery", "-A", "panel", "beat", "--pidfile="),
    "worker": ("-m", "celery", "-A", "panel", "worker", "--pool=solo"),
    "migrate": ("manage.py", "migrate"),
}


def test_killed_rotations_go_on_and_nothing_starts_without_the_old_key_until_their_end(metadata: Metadata) -> None:
    left = []
    for _ in range(2):
        before = set(metadata.tokens())
        metadata.kill_a_rotation({token for token in before if _opens(Fernet(OLD), token)})
        left.append(metadata.of_old_key())
    assert ROLES > left[0] > left[1] > 0
    for words in STARTS.values():
        refused = metadata.run(sys.executable, *words, keys=NEW)
        assert refused.returncode != 0
        assert f"the key with the fingerprint {fingerprint(OLD)}" in refused.stderr
        assert not any(key in refused.stdout + refused.stderr for key in (OLD, NEW))
    done = metadata.managed("rotate_keys", keys=f"{NEW},{OLD}")
    assert (done.returncode, f"encrypted again: {left[1]:,} secrets" in done.stdout) == (0, True)
    assert metadata.of_old_key() == 0
    assert metadata.managed("migrate", keys=NEW).returncode == 0
    assert metadata.managed("rotate_keys", "--status", keys=NEW).returncode == 0
