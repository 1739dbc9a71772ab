"""The ends of applies against all else that writes many pools, with the metadata in a PostgreSQL.

Each of them locks many rows; where two took them in different orders, PostgreSQL would end one: "deadlock detected".
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import connection, connections

from pools import task_queue
from pools.clusters import failover
from pools.deployment import attempt
from pools.deployment.attempt import Attempt, DesiredState
from pools.inventory import pool_validation, pools, sql_settings
from pools.models import Cluster, NodeRole, Pool, Pooler, PoolState, Revision
from pools.monitoring import pool_logins
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers.console_sample import PoolFigures
from pools.poolers.faults import Rejected
from pools.poolers.session import Draft, Session
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no row locks"),
]
POOLS, ROUNDS = 30, 8
STUCK = PoolFigures(cl_waiting=1)
Write = Callable[[Cluster, Pooler], object]


def settled(_cluster: Cluster, pooler: Pooler) -> None:
    """End an apply of the pooler, which went well."""
    asked, revision = DesiredState.of(pooler, None), Revision.objects.draft(pooler, {})
    session = cast("Session", SimpleNamespace(processes_read_back=list))
    Attempt(asked, session, revision, cast("Draft", None)).settle([])


def refused(_cluster: Cluster, pooler: Pooler) -> None:
    """End an apply of the pooler, which was refused because of half of its pools."""
    asked, revision = DesiredState.of(pooler, None), Revision.objects.draft(pooler, {})
    reasons = {pool.pk: f"reason {number % 3}" for number, pool in enumerate(asked.changed) if number % 2}
    attempt.refuse(revision, Rejected.each(reasons) if reasons else Rejected("all of it"), asked)


def rendered_again(cluster: Cluster, _pooler: Pooler) -> None:
    """Have all pools of the cluster applied again, as after a change of its address."""
    found = list(cluster.pools.all())
    random.shuffle(found)
    task_queue.ask_again(found)


def failed_over(cluster: Cluster, _pooler: Pooler) -> None:
    """Have all pools of the cluster applied again, as after its primary moved."""
    before, after = ({NodeRole.PRIMARY: [(host, 5432)], NodeRole.STANDBY: []} for host in ("10.0.0.1", "10.0.0.2"))
    failover._mark(cluster, before, after)


def tried_again(_cluster: Cluster, pooler: Pooler) -> None:
    """Make what was refused pending again, with a reason."""
    attempt.reset_to_pending(pooler)
    attempt.set_reason(pooler, f"reason {random.random()}")


def found_stuck(_cluster: Cluster, pooler: Pooler) -> None:
    """Make a login through each pool due, as where clients wait."""
    names = list(pooler.pools.values_list("name", flat=True))
    pool_logins.make_due({pooler.pk: ConsoleSnapshot(figures=dict.fromkeys(names, STUCK))})


def edited(_cluster: Cluster, pooler: Pooler) -> None:
    """Give a pool another password, so that all pools of its user are applied again."""
    pool = random.choice(list(pooler.pools.wanted()))
    pools.change(pool, {"size": random.randrange(1, 20), "user_password": f"password {random.random()}"}, None)


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, list[Pooler]]:
    """Pools to one cluster on two poolers, edited so that their versions differ."""
    cluster, poolers = a_cluster(), [a_pooler(port=number) for number in (1, 2)]
    for number in range(POOLS):
        pool = a_pool(cluster=cluster, pooler=poolers[number % 2], size=1)
        for _edit in range(number % 3):
            pool.edit(None, size=2)
    monkeypatch.setattr(attempt, "ROWS_AT_ONCE", 3)  # several statements, as of an apply of thousands
    monkeypatch.setattr(Pooler, "holds_apply_lock", lambda _pooler: True)
    monkeypatch.setattr(task_queue, "send", lambda *_words: None)
    monkeypatch.setattr(pool_validation, "server_problems", lambda *_words: ())  # no server is there
    monkeypatch.setattr(sql_settings, "refuse_powerful", lambda *_words: None)
    monkeypatch.setattr(pools, "other_passwords", lambda *_words: ())
    return cluster, poolers


def repeatedly(write: Write, cluster: Cluster, pooler: Pooler, start: threading.Barrier) -> None:
    """Write again and again, in a connection of its own."""
    try:
        start.wait()
        for _round in range(ROUNDS):
            write(Cluster.objects.get(pk=cluster.pk), Pooler.objects.get(pk=pooler.pk))
    finally:
        connections.close_all()


@pytest.mark.parametrize("other", [rendered_again, failed_over, tried_again, found_stuck, edited])
@pytest.mark.parametrize("end", [settled, refused])
def test_no_writer_of_many_pools_is_ended_by_a_deadlock(
    end: Write, other: Write, seeded: tuple[Cluster, list[Pooler]]
) -> None:
    cluster, poolers = seeded
    writers = [(write, pooler) for write in (end, other) for pooler in poolers]
    start = threading.Barrier(len(writers))
    with ThreadPoolExecutor(len(writers)) as threads:
        done: list[Any] = [threads.submit(repeatedly, write, cluster, pooler, start) for write, pooler in writers]
    for one in done:
        one.result()
    assert Pool.objects.exclude(state__in=(PoolState.PENDING, PoolState.APPLIED, PoolState.ROLLED_BACK)).count() == 0
