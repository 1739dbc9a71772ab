"""People and workers at once, with the metadata in a PostgreSQL; `test_at_once` runs this file there."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections

from pools import deployment
from pools.deployment import let_go
from pools.errors import IllegalTransition, NotThere, PoolsError
from pools.inventory import histories, pool_access, pooler_settings, poolers, pools
from pools.models import Cluster, Pool, Pooler, PoolState, TakeOver, TakeOverState
from tests.live.pools.deployment.take_over.conftest import OperatorsPgBouncer, Start
from tests.live.pools.deployment.take_over.layouts import FORCED, POOL, SCRAM, USERS, Layout, main
from tests.live.pools.deployment.take_over.test_take_over import released, row_of, taken_over

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no row locks"),
]
Watch = Callable[[OperatorsPgBouncer], Pooler]
NAMES = tuple(f"app{number}" for number in range(6))
ENTRIES = "\n".join(f"{name} = {FORCED} pool_size=4" for name in NAMES)
SIX = Layout("six", {"pgbouncer.ini": main(ENTRIES, SCRAM), "userlist.txt": USERS}, dict.fromkeys(NAMES, POOL))
PAUSE_S = 0.2  # of a worker in the middle of its transaction, in which people go on
REFUSED = (IllegalTransition, NotThere)
LATE = {"name": "late", "database": "app", "user": "app", "size": 2, "mode": "session"}


@contextmanager
def people(count: int) -> Iterator[Callable[..., "Future[Any]"]]:
    """Let each act in a thread of its own, with a database connection of its own."""

    def act(verb: Callable[..., Any], *words: Any) -> Any:
        try:
            return verb(*words)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as threads:
        yield lambda verb, *words: threads.submit(act, verb, *words)


def edited_until(pool: Pool, over: threading.Event) -> int:
    """Change its size again and again; return how often that was saved. Whatever is no refusal is raised."""
    saved = 0
    while not over.is_set():
        try:
            pools.change(pool, {"size": 2 + saved % 7}, None)
            saved += 1
        except REFUSED:
            time.sleep(0.01)
    return saved


def released_by_worker(pooler: Pooler) -> TakeOver:
    """Let it go, as a worker does with records of its own."""
    return released(Pooler.objects.get(pk=pooler.pk))


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has written the first pool's history sleeps, while it has its rows."""
    to_entry = histories.to_entry
    monkeypatch.setattr(histories, "to_entry", lambda *words: (to_entry(*words), time.sleep(PAUSE_S / len(NAMES))))


@pytest.mark.usefixtures("slowly")
def test_a_pooler_is_let_go_under_edits_of_its_pools(cluster: Cluster, start: Start, watch: Watch) -> None:
    pgbouncer = start(SIX)
    pooler, before = watch(pgbouncer), pgbouncer.bytes_of_all()
    for _round in range(3):
        taken_over(pooler)
        found, over = list(pooler.pools.all()), threading.Event()
        assert len(found) == len(NAMES)
        with people(len(found) + 1) as send:
            edits = [send(edited_until, pool, over) for pool in found]
            time.sleep(PAUSE_S)
            try:
                done = send(released_by_worker, pooler).result()
            finally:
                over.set()
            assert sum(edit.result() for edit in edits) > 0
        pooler.refresh_from_db()
        assert (done.state, pooler.is_watched, pooler.pools.count()) == (TakeOverState.RELEASED, True, 0)
        assert pgbouncer.bytes_of_all() == before


def made_late(pooler: Pooler, cluster: Cluster) -> Pool | None:
    try:
        return pools.create({**LATE, "pooler": pooler, "cluster": cluster})
    except PoolsError:
        return None


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.2, 0.5])
def test_a_pool_that_was_made_never_goes_with_its_pooler(
    cluster: Cluster, start: Start, watch: Watch, after_s: float
) -> None:
    pgbouncer = start(SIX)
    pooler = watch(pgbouncer)
    taken_over(pooler)
    with people(2) as send:
        release = send(released_by_worker, pooler)
        time.sleep(after_s)
        made = send(made_late, Pooler.objects.get(pk=pooler.pk), cluster).result()
        try:
            state = release.result().state
        except IllegalTransition:
            state = TakeOver.objects.get(pooler=pooler).state
    if made is not None:
        assert (state, Pool.objects.filter(pk=made.pk).exists()) == (TakeOverState.TAKEN, True)
    else:
        assert (state, pooler.pools.count()) == (TakeOverState.RELEASED, 0)


def test_while_its_files_are_given_back_nothing_of_it_is_changed_or_removed(
    cluster: Cluster, start: Start, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooler = watch(start(SIX))
    taken_over(pooler)
    pool = pooler.pools.get(name=NAMES[0])
    refused: list[str] = []
    give_back = let_go._give_back

    def refuse_all(*words: Any) -> None:
        for verb in (
            lambda: pools.change(pool, {"size": 9}, None),
            lambda: pools.create({**LATE, "pooler": pooler, "cluster": cluster}),
            lambda: pooler_settings.change_settings(pooler, {"max_client_conn": 200}, None),
            lambda: poolers.remove(pooler),
        ):
            with pytest.raises(IllegalTransition) as error:
                verb()
            refused.append(str(error.value))
        give_back(*words)

    monkeypatch.setattr(let_go, "_give_back", refuse_all)
    assert released(pooler).state == TakeOverState.RELEASED
    assert refused[0] == "pooler own is being let go, and its pools with it: nothing of it can be changed now"
    assert len(refused) == 4


def test_edits_at_once_with_applies_are_all_live_at_the_end(cluster: Cluster, start: Start, watch: Watch) -> None:
    pgbouncer = start(SIX)
    pooler = watch(pgbouncer)
    taken_over(pooler)
    found, over = list(pooler.pools.all()), threading.Event()
    versions = {pool.pk: pool.version for pool in found}
    with people(len(found) + 3) as send:
        edits = {pool.pk: send(edited_until, pool, over) for pool in found}
        restricted = send(pool_access.restrict, Pooler.objects.get(pk=pooler.pk), pooler.name)
        applies = [send(deployment.apply_pooler, Pooler.objects.get(pk=pooler.pk)) for _ in range(6)]
        try:
            for apply in applies:
                apply.result()
            open_pools = {pool.pk for pool in restricted.result()}
        finally:
            over.set()
        saved = {pk: edit.result() for pk, edit in edits.items()}
    deployment.apply_pooler(Pooler.objects.get(pk=pooler.pk))
    for pool in pooler.pools.all():
        assert (pool.state, pool.state_reason) == (PoolState.APPLIED, "")
        assert pool.version == versions[pool.pk] + saved[pool.pk] + (pool.pk in open_pools)
        assert row_of(pgbouncer, pool.name)["pool_size"] == pool.size
