"""kill -9 at every step of an apply: a pooler that reloads or restarts right then runs all of the old or of the new."""

import os
import shutil
import signal
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.deployment import rollback
from pools.hosts import atomic_write
from pools.models import Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.pgbouncer import console
from pools.poolers.pgbouncer.session import PgBouncerSession
from tests.live.pools.conftest import Live, LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)

Running = Callable[[], tuple[dict[str, tuple[object, ...]], str]]
FILE_STEPS = ("mkdir", "open", "fsync", "link", "symlink", "rename", "unlink")
APPLY_STEPS: list[tuple[Any, str]] = [
    (PgBouncerSession, "draft"),
    (PgBouncerSession, "preflight"),
    (PgBouncerSession, "go_live"),
    (PgBouncerSession, "read_back"),
    (PgBouncerSession, "log_in"),
    (console, "reload"),
    (Revision, "note"),
    (Revision, "finish"),
    (deployment.Attempt, "settle"),
]


class Killing:
    """Counts steps, and kills its own process right before the one whose turn it is."""

    def __init__(self, turn: int) -> None:
        self.turn, self.steps = turn, 0

    def before(self, original: Callable[..., Any], meanwhile: Callable[[], Any] | None = None) -> Callable[..., Any]:
        """Die before a call of it, after having begun something else."""

        def step(*values: Any, **named: Any) -> Any:
            if self.steps == self.turn:
                if meanwhile:
                    meanwhile()
                os.kill(os.getpid(), signal.SIGKILL)
            self.steps += 1
            return original(*values, **named)

        return step

    def everywhere(self, owners: list[tuple[Any, str]]) -> None:
        for owner, name in owners:
            setattr(owner, name, self.before(getattr(owner, name)))


class Calls:
    """The os module as pools.config_files.symlink_swap sees it, each call that changes something counted."""

    def __init__(self, killing: Killing) -> None:
        for name in FILE_STEPS:
            setattr(self, name, killing.before(getattr(os, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def apply_killed_at(pooler: Pooler, turn: int, *, files: bool) -> bool:
    """Apply in a process of its own that dies at that step; whether it did, and not all steps were taken before."""
    connection.close()  # each process opens its own
    child = os.fork()
    if child == 0:
        status = 1
        try:
            killing = Killing(turn)
            if files:
                atomic_write.os, atomic_write.shutil = Calls(killing), _Trees(killing)
            else:
                killing.everywhere(APPLY_STEPS)
            deployment.apply_pooler(pooler)
            status = 0
        except Exception:  # noqa: BLE001 (whatever it is, this process must not go on as a second pytest)
            traceback.print_exc()
        os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


class _Trees:
    def __init__(self, killing: Killing) -> None:
        self.rmtree = killing.before(shutil.rmtree)


@pytest.fixture
def running(live: Live, pgbouncer: PgBouncerServer) -> Running:
    """What the pooler runs: its pools, and a setting."""

    def read() -> tuple[dict[str, tuple[object, ...]], str]:
        with pgbouncer.connect() as session:
            config = {row[0]: row[1] for row in session.execute(b"SHOW CONFIG")}
        return live(), config["query_wait_timeout"]

    return read


@pytest.fixture
def old_and_new(make_pool: MakePool, pooler: Pooler, running: Running) -> Callable[[], tuple[Any, Any]]:
    """Brings the old configuration live and asks for the new one; what each of them looks like when it runs."""
    orders, leaving = make_pool("orders"), make_pool("leaving")
    pooler.edit(None, settings={"query_wait_timeout": 33}, settings_state=PoolState.PENDING)
    old = deployment.apply_pooler(pooler)
    states: list[Any] = [running()]

    def ask() -> None:
        orders.refresh_from_db()
        orders.edit(None, size=5, mode="session", state=PoolState.PENDING)
        Pool.objects.filter(pk=leaving.pk).update(removal_requested_at=timezone.now())
        make_pool("fresh", user="", size=2)
        pooler.refresh_from_db()
        pooler.edit(None, settings={"query_wait_timeout": 44}, settings_state=PoolState.PENDING)

    ask()
    deployment.apply_pooler(pooler)
    states.append(running())
    assert states[0] != states[1]

    def again() -> tuple[Any, Any]:
        pooler.refresh_from_db()
        rollback.roll_back(pooler, old)
        assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
        assert running() == states[0]
        ask()
        return states[0], states[1]

    return again


@pytest.mark.parametrize(
    "files", [pytest.param(True, marks=pytest.mark.slow, id="file"), pytest.param(False, id="apply")]
)
def test_at_every_step_a_kill_leaves_a_whole_configuration(
    files: bool,
    old_and_new: Callable[[], tuple[Any, Any]],
    pooler: Pooler,
    pgbouncer: PgBouncerServer,
    running: Running,
    log_in: LogIn,
) -> None:
    turn, died, seen = 0, True, set()
    while died:
        old, new = old_and_new()
        died = apply_killed_at(pooler, turn, files=files)
        with pgbouncer.connect() as session:
            session.execute(b"RELOAD")
        reloaded = running()
        assert reloaded in (old, new), f"reloaded after the kill at step {turn}"
        pgbouncer.stop()
        pgbouncer.start()
        assert running() == reloaded, f"restarted after the kill at step {turn}"
        seen.add("old" if reloaded == old else "new")
        assert log_in("orders") == "app"
        _finish(pooler)
        assert running() == new, f"applied again after the kill at step {turn}"
        assert not (pgbouncer.config_dir / atomic_write.STAGE).exists()
        turn += 1
    assert seen == {"old", "new"}
    assert turn > (30 if files else 15)


def _finish(pooler: Pooler) -> None:
    """The next worker, who need not wait for the lease of one that is proved dead."""
    deployment.apply_pooler(pooler)
    assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.APPLIED}
    assert not Revision.objects.filter(state=RevisionState.PENDING).exists()
    pooler.refresh_from_db()
    assert pooler.settings_state == PoolState.APPLIED
