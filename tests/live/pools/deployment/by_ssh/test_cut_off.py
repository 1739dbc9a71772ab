"""What is left when the way to the host goes wrong during an apply: never half of a configuration, never `applied`."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pools import deployment
from pools.config_files import pooler_files
from pools.hosts import base, kept
from pools.hosts.base import CompletedCommand
from pools.hosts.ssh import SshConnection
from pools.models import Cluster, Pooler, PoolState, Revision, RevisionState
from pools.poolers.pgbouncer.session import PgBouncerSession
from tests.live.pools.deployment.by_ssh.test_by_ssh import ask_pool, log_in, taken_over
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer
from tests.live.sshds import CuttingProxy, SshServer

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("pgbouncer.ini", "pooldeck.ini", "pooldeck_settings.ini", "userlist.txt")
RECOVERED_WITHIN_S = 10
Files = dict[str, bytes | None]


@pytest.fixture
def managed(watched: Pooler) -> Pooler:
    """The PgBouncer, taken over."""
    assert taken_over(watched).reason == ""
    return watched


def files(own: OperatorsPgBouncer) -> Files:
    """What PgBouncer would read now."""
    return {name: path.read_bytes() if (path := Path(own.config_dir, name)).exists() else None for name in NAMES}


def before_write(proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    _before(monkeypatch, PgBouncerSession, "go_live", proxy.cut)


def mid_write(proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def limit() -> None:
        proxy.limit = proxy.carried + 5000  # the script itself is longer

    _before(monkeypatch, pooler_files, "replace", limit)


def after_write(proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    _before(monkeypatch, PgBouncerSession, "_reload", proxy.cut)


def before_read_back(proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    _before(monkeypatch, PgBouncerSession, "read_back", proxy.cut)


def _before(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], None]) -> None:
    """Act before the first call alone."""
    usual, calls = getattr(owner, name), []

    def called(*args: object, **kwargs: object) -> object:
        if not calls:
            calls.append(name)
            act()
        return usual(*args, **kwargs)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize("stays", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("step", [before_write, mid_write, after_write, before_read_back])
def test_a_connection_cut_in_any_step_is_no_apply_and_the_next_one_is(
    own: OperatorsPgBouncer,
    managed: Pooler,
    cluster: Cluster,
    proxy: CuttingProxy,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[[CuttingProxy, pytest.MonkeyPatch], None],
    stays: bool,
) -> None:
    old, pool = files(own), ask_pool(managed, cluster)
    with monkeypatch.context() as patched:
        usual = proxy.cut
        patched.setattr(proxy, "cut", lambda: (setattr(proxy, "limit", 0) if stays else None, usual()))
        step(proxy, patched)
        if not stays:
            step_limit_once(proxy, patched)
        deployment.apply_pooler(managed)
    proxy.limit = None
    pool.refresh_from_db()
    cut = managed.revisions.first()
    assert (cut.state, pool.state) in [
        (RevisionState.FAILED, PoolState.PENDING),
        (RevisionState.ROLLED_BACK, PoolState.PENDING),
    ]
    found = files(own)
    has_pool = b"orders" in (found["pooldeck.ini"] or b"")
    assert has_pool or found == old
    again = applied_within(managed, RECOVERED_WITHIN_S)
    pool.refresh_from_db()
    assert again is not None, (pool.state, pool.state_reason, cut.reason)
    assert (again.reason, again.state, pool.state) == ("", RevisionState.APPLIED, PoolState.APPLIED)
    assert log_in(own, "orders") == "app"
    assert not Path(own.config_dir, ".pooldeck").exists()


def applied_within(pooler: Pooler, seconds: float) -> Revision | None:
    """Apply as often as the panel would: a host that did not answer a moment ago is left alone for some seconds."""
    until = time.monotonic() + seconds
    while (again := deployment.apply_pooler(pooler)) is None and time.monotonic() < until:
        time.sleep(0.5)
    return again


def step_limit_once(proxy: CuttingProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new logins through after a connection was cut at the limit."""
    usual = kept._log_in

    def new(*args: object) -> object:
        proxy.limit = None
        return usual(*args)

    monkeypatch.setattr(kept, "_log_in", new)


def too_slow(monkeypatch: pytest.MonkeyPatch, name: str, text: str, times: int) -> None:
    """Let a script have this text for some of its calls, and a second."""
    usual, left = SshConnection.script, [text] * times

    def called(self: SshConnection, asked: str, *words: str, **how: Any) -> CompletedCommand:
        given = words
        if asked == "as_owner.sh":  # runs the script that it is given on a folder
            folder, _text, asked_there, *rest = words
            given = (folder, *rest)
        else:
            asked_there = asked
        if asked_there != name or not left:
            return usual(self, asked, *words, **how)
        argv = ["sh", "-c", left.pop(), name, *given]
        return self.run(argv, stdin=how.get("stdin", b""), timeout_s=1)

    monkeypatch.setattr(SshConnection, "script", called)


@pytest.mark.parametrize(("times", "state"), [(1, RevisionState.ROLLED_BACK), (2, RevisionState.FAILED)])
def test_a_replacement_that_ends_too_late_is_unknown_and_the_next_apply_does_it(
    own: OperatorsPgBouncer,
    managed: Pooler,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    state: RevisionState,
) -> None:
    old, pool = files(own), ask_pool(managed, cluster)
    text = base.script("replace.sh")
    with monkeypatch.context() as patched:
        too_slow(patched, "replace.sh", text.replace("swap $names", "sleep 2; swap $names"), times)
        assert deployment.apply_pooler(managed) is None
    pool.refresh_from_db()
    assert (managed.revisions.first().state, pool.state) == (state, PoolState.PENDING)
    assert "replace.sh did not end within" in pool.state_reason
    assert files(own) == old
    assert applied_within(managed, RECOVERED_WITHIN_S).state == RevisionState.APPLIED
    assert log_in(own, "orders") == "app"


def test_a_trial_that_hangs_refuses_the_apply_with_the_reason(
    own: OperatorsPgBouncer, managed: Pooler, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, pool = files(own), ask_pool(managed, cluster)
    with monkeypatch.context() as patched:
        too_slow(patched, "trial.sh", "sleep 9", 1)
        assert deployment.apply_pooler(managed).state == RevisionState.ROLLED_BACK
    pool.refresh_from_db()
    assert (pool.state, files(own)) == (PoolState.ROLLED_BACK, old)
    assert pool.state_reason.startswith("sh did not end on host db-1 within 1 s")


def test_a_host_with_another_key_is_named_and_nothing_is_written(
    own: OperatorsPgBouncer, managed: Pooler, cluster: Cluster, sshd: SshServer
) -> None:
    old, pool = files(own), ask_pool(managed, cluster)
    kept.close_all()
    sshd.stop()
    sshd.make_host_key()
    sshd.start()
    deployment.apply_pooler(managed)
    pool.refresh_from_db()
    assert pool.state == PoolState.PENDING
    assert "host db-1 has another key than the confirmed one" in pool.state_reason
    assert files(own) == old


def test_a_full_disk_there_rolls_the_pool_back_and_says_so(
    own: OperatorsPgBouncer, managed: Pooler, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, pool = files(own), ask_pool(managed, cluster)
    folder = Path(own.config_dir)
    kept_files = {path.name: path for path in folder.iterdir() if path.is_file()}
    owner = folder.stat()
    saved = {name: (path.read_bytes(), path.stat()) for name, path in kept_files.items()}
    options = f"size=64k,mode=0700,uid={owner.st_uid},gid={owner.st_gid}"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False).returncode:
        pytest.skip("this account can't mount")
    try:
        for name, (content, status) in saved.items():
            if not name.endswith(".log"):
                (folder / name).write_bytes(content)
                os.chown(folder / name, status.st_uid, status.st_gid)
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file:
            for _number in range(64):
                try:
                    file.write(b"x" * 1024)
                except OSError:
                    break
        revision = deployment.apply_pooler(managed)
        pool.refresh_from_db()
        assert (revision.state, pool.state) == (RevisionState.ROLLED_BACK, PoolState.ROLLED_BACK)
        assert f"{folder} needs " in pool.state_reason
        assert "kB for its new files, and its disk has 0 kB free" in pool.state_reason
        assert files(own) == old
        filler.unlink()
        deployment.reset_to_pending(managed)
        assert deployment.apply_pooler(managed).state == RevisionState.APPLIED
        assert log_in(own, "orders") == "app"
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
