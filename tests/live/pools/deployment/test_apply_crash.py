"""Workers that die, stall or race in the middle of an apply: state shown is state live, and the next one finishes."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from panel.quickstart.servers import PgBouncerServer
from pools import deployment
from pools.hosts import atomic_write
from pools.models import Pool, Pooler, PoolState, Revision, RevisionState
from pools.poolers.faults import Rejected
from pools.poolers.pgbouncer import console, preflight, verify
from pools.poolers.pgbouncer.session import PgBouncerSession
from tests.live.pools.conftest import ConfigBytes, Live, LogIn, MakePool

pytestmark = pytest.mark.django_db(transaction=True)


class WorkerDied(BaseException):
    """Like kill -9: nothing catches it."""


def before_it(original: Callable[..., Any]) -> Callable[..., Any]:
    def die(*_: Any, **__: Any) -> None:
        raise WorkerDied

    return die


def after_it(original: Callable[..., Any]) -> Callable[..., Any]:
    def do_then_die(*values: Any, **named: Any) -> None:
        original(*values, **named)
        raise WorkerDied

    return do_then_die


STEPS = [
    (PgBouncerSession, "draft"),
    (PgBouncerSession, "preflight"),
    (preflight, "start"),
    (atomic_write, "_link_up"),
    (atomic_write, "replace"),
    (console, "reload"),
    (verify, "read_back"),
    (verify, "log_in"),
    (Revision, "finish"),
]


# Just before a step the files are as just after the step before it, which the quick form has.
@pytest.mark.parametrize("dying", [pytest.param(before_it, marks=pytest.mark.slow), after_it])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[f"{one.__name__.split('.')[-1]}.{name}" for one, name in STEPS])
def test_a_worker_that_dies_leaves_whole_files_and_the_next_one_finishes(
    owner: object,
    name: str,
    dying: Callable[..., Any],
    orders: Pool,
    make_pool: MakePool,
    pooler: Pooler,
    config_bytes: ConfigBytes,
    live: Live,
    log_in: LogIn,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = config_bytes()
    orders.edit(None, size=5, user="", state=PoolState.PENDING)
    fresh = make_pool("fresh")
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dying(getattr(owner, name)))
        patch.setattr(Pooler, "release_apply_lock", lambda self: None)
        with pytest.raises(WorkerDied):
            deployment.apply_pooler(pooler)
    for file, content in config_bytes().items():
        assert content == old[file] or content.endswith(b"\n"), file
    states = set(Pool.objects.values_list("state", flat=True))
    assert states == {PoolState.PENDING}  # nothing is called applied that was not proved and recorded
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED
    assert live() == {"orders": ("app", None, 5, "transaction", 5), "fresh": ("app", "app", 3, "transaction", 3)}
    assert (log_in("orders"), log_in("fresh")) == ("app", "app")
    fresh.refresh_from_db()
    assert fresh.state == PoolState.APPLIED
    assert not Revision.objects.filter(state=RevisionState.PENDING).exists()
    assert set(config_bytes()) == set(old)


def test_a_dead_workers_revision_says_at_which_step_it_died(
    make_pool: MakePool, pooler: Pooler, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    with monkeypatch.context() as patch:
        patch.setattr(console, "reload", before_it(console.reload))
        with pytest.raises(WorkerDied):
            deployment.apply_pooler(pooler)
    deployment.apply_pooler(pooler)
    dead = pooler.revisions.last()
    assert (dead.state, dead.reason) == (
        RevisionState.FAILED,
        "the worker died after the step 'writing'; the apply started over",
    )


def test_after_a_dead_worker_a_fault_puts_the_last_proved_configuration_back(
    orders: Pool, make_pool: MakePool, pooler: Pooler, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = make_pool("bad")
    with monkeypatch.context() as patch:
        patch.setattr(verify, "log_in", before_it(verify.log_in))
        with pytest.raises(WorkerDied):
            deployment.apply_pooler(pooler)
    assert list(live()) == ["bad", "orders"]  # the dead one's work, proved by nobody
    refuse_logins(monkeypatch)
    deployment.apply_pooler(pooler)
    bad.refresh_from_db()
    assert (bad.state, list(live())) == (PoolState.ROLLED_BACK, ["orders"])


def test_a_first_apply_that_died_and_then_fails_leaves_no_pool(
    make_pool: MakePool, pooler: Pooler, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_pool()
    with monkeypatch.context() as patch:
        patch.setattr(verify, "log_in", before_it(verify.log_in))
        with pytest.raises(WorkerDied):
            deployment.apply_pooler(pooler)
    refuse_logins(monkeypatch)
    deployment.apply_pooler(pooler)
    assert live() == {}


def test_a_worker_that_lost_its_lease_writes_nothing_more(
    orders: Pool, make_pool: MakePool, pooler: Pooler, config_bytes: ConfigBytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, preflight = config_bytes(), PgBouncerSession.preflight

    def stall(session: PgBouncerSession, *values: Any) -> None:
        Pooler.objects.update(apply_token=uuid4())
        preflight(session, *values)

    monkeypatch.setattr(PgBouncerSession, "preflight", stall)
    fresh = make_pool("fresh")
    assert deployment.apply_pooler(pooler) is None
    fresh.refresh_from_db()
    assert (fresh.state, config_bytes()) == (PoolState.PENDING, before)
    assert Pooler.objects.get().apply_token is not None  # the other's, left to it


def test_a_pooler_that_stops_answering_keeps_no_worker(
    orders: Pool, make_pool: MakePool, pooler: Pooler, pgbouncer: PgBouncerServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reload = console.reload

    def freeze_then_reload(held: console.Console) -> None:
        pgbouncer.kill(signal.SIGSTOP)
        reload(held)

    fresh = make_pool("fresh")
    with monkeypatch.context() as patch:
        patch.setattr(console.command, "__defaults__", (0.5,))
        patch.setattr(console, "reload", freeze_then_reload)
        assert deployment.apply_pooler(pooler) is None
    pgbouncer.kill(signal.SIGCONT)
    fresh.refresh_from_db()
    assert fresh.state == PoolState.PENDING
    assert "did not answer within 0.5 s" in fresh.state_reason
    assert deployment.apply_pooler(pooler).state == RevisionState.APPLIED


def test_applies_at_once_never_interleave(
    make_pool: MakePool, pooler: Pooler, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        make_pool(f"pool{number}")
    inside: list[int] = []
    most: list[int] = []
    go_live = PgBouncerSession.go_live

    def watched(session: PgBouncerSession, *values: Any) -> None:
        inside.append(1)
        most.append(len(inside))
        go_live(session, *values)
        inside.pop()

    monkeypatch.setattr(PgBouncerSession, "go_live", watched)

    def worker(_: int) -> Revision | None:
        try:
            return deployment.apply_pooler(Pooler.objects.get())
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        made = [revision for revision in threads.map(worker, range(4)) if revision]
    assert (len(made), max(most)) == (1, 1)
    assert len(live()) == 4
    assert set(Pool.objects.values_list("state", flat=True)) == {PoolState.APPLIED}


def test_a_pool_edited_during_its_apply_is_applied_again(
    make_pool: MakePool, pooler: Pooler, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, proved = make_pool(), verify.log_in

    def edit_meanwhile(*values: Any, **named: Any) -> str:
        monkeypatch.setattr(verify, "log_in", proved)
        pool.edit(None, size=8, state=PoolState.PENDING)
        return proved(*values, **named)

    monkeypatch.setattr(verify, "log_in", edit_meanwhile)
    deployment.apply_pooler(pooler)
    pool.refresh_from_db()
    assert (pool.state, live()) == (PoolState.APPLIED, {"orders": ("app", "app", 8, "transaction", 8)})
    assert pooler.revisions.count() == 2


def refuse_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pooler: Pooler, pool: Pool, *_: Any, **__: Any) -> str:
        raise Rejected("no", pool.pk)

    monkeypatch.setattr(verify, "log_in", refuse)
