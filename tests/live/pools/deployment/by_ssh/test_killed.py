"""kill -9 of the panel's worker at every step of an apply by SSH: its host has all of the old files or of the new."""

import os
import re
import signal
import subprocess
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db import connection

from pools import deployment
from pools.hosts import kept, ssh, ssh_client
from pools.inventory import pools
from pools.models import Cluster, Host, Pool, Pooler, PoolState, Revision, RevisionState
from tests.live.pools.deployment.by_ssh.test_by_ssh import ask_pool, log_in
from tests.live.pools.deployment.by_ssh.test_cut_off import managed
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer
from tests.live.pools.deployment.test_apply_killed import APPLY_STEPS, Killing

__all__ = ["managed"]
pytestmark = pytest.mark.django_db(transaction=True)
ENDED_WITHIN_S = 40  # what a script there may take at most
PREFLIGHT_WITHIN_S = 30
Running = tuple[tuple[str, ...], ...]


class Commands:
    """The subprocess module as pools.hosts.ssh sees it: each command on the host is a step, or several."""

    def __init__(self, killing: Killing) -> None:
        self.killing = killing

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)

    def run(self, argv: list[str], **options: Any) -> Any:
        """Die before a command; of one that is sent files, also half-way through, right after, and once it is done."""
        content = options.get("input") or b""
        self.killing.before(_nothing)()
        if content:
            self.killing.before(_nothing, meanwhile=lambda: _begin(argv, options, content[: len(content) // 2]))()
            self.killing.before(_nothing, meanwhile=lambda: _begin(argv, options, content).stdin.close())()
        done = subprocess.run(argv, **options)
        if content:
            self.killing.before(_nothing)()
        return done


def _nothing() -> None:
    """Stand for what is done in a step."""


def _begin(argv: list[str], options: dict[str, Any], content: bytes) -> Any:
    child = subprocess.Popen(argv, env=options["env"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write(content)
    child.stdin.flush()
    return child


def apply_killed_at(pooler: Pooler, turn: int, *, commands: bool) -> bool:
    """Apply in a process of its own that dies at that step; whether it did, and not all steps were taken before."""
    connection.close()  # each process opens its own
    child = os.fork()
    if child == 0:
        status = 1
        try:
            killing = Killing(turn)
            if commands:
                ssh.subprocess = Commands(killing)
            else:
                killing.everywhere(APPLY_STEPS)
            made = deployment.apply_pooler(pooler)
            pooler.refresh_from_db()
            waits = [*pooler.pools.values_list("state_reason", flat=True), pooler.settings_reason, pooler.error]
            assert (made.state if made else waits) == RevisionState.APPLIED  # it may wait with a reason instead
            status = 0
        except Exception:  # noqa: BLE001 (whatever it is, this process must not go on as a second pytest)
            traceback.print_exc()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
    return os.WIFSIGNALED(status)


def ask(pool: Pool, cluster: Cluster, turn: int) -> None:
    """Ask for another size and another setting, and for a further pool or none."""
    pool.refresh_from_db()
    pool.edit(None, size=3 + turn % 2, state=PoolState.PENDING)
    pool.pooler.refresh_from_db()
    pool.pooler.edit(None, settings={"query_wait_timeout": 33 + turn % 2}, settings_state=PoolState.PENDING)
    if other := Pool.objects.filter(name="fresh").first():
        pools.remove(other)
    else:
        ask_pool(pool.pooler, cluster, "fresh")


def running(own: OperatorsPgBouncer) -> Running:
    """What PgBouncer runs: its entries with their sizes, and a setting."""
    shown = own.shown()
    config = [row[:2] for row in shown["CONFIG"] if row[0] == "query_wait_timeout"]
    return tuple(sorted((*row[:1], *row[5:7]) for row in shown["DATABASES"]) + config)


@pytest.mark.parametrize(
    ("commands", "stride"),
    [
        pytest.param(True, 1, marks=[pytest.mark.slow, pytest.mark.timeout(900)], id="command"),
        pytest.param(False, 1, marks=[pytest.mark.slow, pytest.mark.timeout(900)], id="apply"),
        pytest.param(True, 5, id="some commands"),
    ],
)
def test_a_worker_killed_at_any_step_leaves_a_whole_configuration_on_the_host(
    commands: bool, stride: int, own: OperatorsPgBouncer, managed: Pooler, cluster: Cluster
) -> None:
    own.prepare = lambda: None  # a restart reads what is there
    pool = ask_pool(managed, cluster)
    finish(managed)
    turn, died, seen = 0, True, set()
    while died:
        old, before = running(own), managed.revisions.first()
        ask(pool, cluster, turn // stride)
        died = apply_killed_at(managed, turn, commands=commands)
        last = managed.revisions.first()
        with own.connect() as session:
            session.execute(b"RELOAD")
        after = [running(own)]
        own.stop()
        own.start()
        after.append(running(own))
        finish(managed)
        new = running(own)
        assert new != old
        assert {old, new} >= set(after), f"after the kill at step {turn}"
        is_applied = last != before and last.state == RevisionState.APPLIED
        assert not is_applied or after[-1] == new, f"step {turn} is no apply"
        assert log_in(own, "orders") == "app"
        seen.update("old" if one == old else "new" for one in after)
        assert left_over(own) == []
        turn += stride
    assert seen == {"old", "new"}
    assert turn > 15


def finish(pooler: Pooler) -> None:
    """The next worker, who need not wait for the lease of one that is proved dead."""
    pooler.refresh_from_db()
    deployment.apply_pooler(pooler)
    assert set(Pool.objects.values_list("state", "state_reason")) == {(PoolState.APPLIED, "")}
    assert not Revision.objects.filter(state=RevisionState.PENDING).exists()
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.APPLIED


def left_over(own: OperatorsPgBouncer) -> list[str]:
    """What remains of killed workers: their logins, their folders here, and the panel's own in the host's.

    A folder of a killed worker is removed by the next login.
    """
    kept.close_all()
    with kept.connected(Host.objects.get()) as host:
        assert host.run(["true"]).exit_code == 0
    until = time.monotonic() + ENDED_WITHIN_S
    while (orphans := _orphans()) and time.monotonic() < until:
        time.sleep(0.1)
    folders = Path(tempfile.gettempdir()).glob(f"{ssh_client.PREFIX}*")
    dead = [str(path) for path in folders if not psutil.pid_exists(int(path.name.split("-")[2]))]
    there = [str(path) for path in Path(own.config_dir).glob(".pooldeck*")]
    return [*orphans, *dead, *there, *_kept_preflights()]


def _kept_preflights() -> list[str]:
    """Folders of trial instances that stay: those of a test beside this one are gone in a moment."""
    until = time.monotonic() + PREFLIGHT_WITHIN_S
    left = _preflights()
    while left and time.monotonic() < until:
        time.sleep(0.1)
        left &= _preflights()
    return sorted(left)


def _preflights() -> set[str]:
    return set(map(str, Path("/tmp").glob(".pooldeck-preflight-*")))


def _orphans() -> list[str]:
    """The ssh processes here whose worker has ended, by the number of it in the name of their folder."""
    lines = [" ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])]
    workers = {line: re.search(rf"{ssh_client.PREFIX}(\d+)-", line) for line in lines if line.startswith("ssh ")}
    return [line for line, worker in workers.items() if worker and not psutil.pid_exists(int(worker[1]))]
