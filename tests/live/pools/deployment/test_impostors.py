"""A program that another account of the host put before the pooler's port is never taken for it, nor started."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from panel.quickstart.servers import PgBouncerServer, binary
from pools import deployment
from pools.models import Pooler, Revision
from pools.poolers import local_process
from pools.poolers.haproxy import preflight as haproxy_preflight
from pools.poolers.pgbouncer import preflight
from tests.live.pools.conftest import MakePool

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account"),
]
OTHER = 65534  # nobody
PGBOUNCER = "[databases]\n[pgbouncer]\nlisten_addr = ::\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
HAPROXY = """
defaults
    timeout connect 5s
    timeout client 5s
    timeout server 5s
listen stolen
    bind [::]:{port} v6only
"""


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of the other account, with its copies of the programs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for program in ("pgbouncer", "haproxy"):
            shutil.copy(Path(binary(program)).resolve(), folder / program)
        for path in (folder, *folder.iterdir()):
            os.chown(path, OTHER, OTHER)
            path.chmod(0o755)
        yield folder


def listening(ends: ExitStack, words: list[str], port: int) -> None:
    """Start the impostor as its own account, and wait until it listens at the port of [::]."""
    account = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "--"]
    child = ends.enter_context(subprocess.Popen([*account, *words], stderr=subprocess.DEVNULL, cwd="/"))
    ends.callback(child.kill)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_INET6) as probe:
            if probe.connect_ex(("::1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"the impostor does not listen: {words}")


def config_of(others: Path, name: str, text: str, config_dir: Path) -> str:
    """Its configuration; the path holds the real folder's, to be looked at first."""
    folder = others / "x" / str(config_dir).lstrip("/")
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    return f"{others}/x{config_dir}/{name}"


def preflight_of(revision: Revision) -> str:
    """What the revision says of its preflight."""
    return next(step["detail"] for step in revision.steps if step["step"] == "preflight passed").partition("; ")[2]


def test_a_pgbouncer_of_another_account_is_not_started(
    others: Path, pgbouncer: PgBouncerServer, pooler: Pooler, make_pool: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SEARCH_PATH", "/nowhere")
    ini = config_of(others, "pgbouncer.ini", PGBOUNCER.format(port=pooler.port), pgbouncer.config_dir)
    with ExitStack() as ends:
        listening(ends, [str(others / "pgbouncer"), ini], pooler.port)
        real = str(Path(binary("pgbouncer")).resolve())
        assert list(local_process.programs(pooler, "pgbouncer")) == [real]
        make_pool()
        assert preflight_of(deployment.apply_pooler(pooler)) == f"a trial instance started on the files ({real})"


def test_an_haproxy_of_another_account_is_not_started(
    others: Path, haproxy_pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(haproxy_preflight, "SEARCH_PATH", "/nowhere")
    text = HAPROXY.format(port=haproxy_pooler.port)
    config = config_of(others, "haproxy.cfg", text, Path(haproxy_pooler.config_dir))
    with ExitStack() as ends:
        listening(ends, [str(others / "haproxy"), "-db", "-f", config], haproxy_pooler.port)
        assert list(local_process.programs(haproxy_pooler, "haproxy")) == []
        assert haproxy_preflight.find(haproxy_pooler, haproxy_pooler.server_version) is None
