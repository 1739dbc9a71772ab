"""Many clients of /v2/ at once: no pool is lost or doubled, and the budget is never exceeded."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection

from pools.inventory import budget
from pools.models import Cluster, Pool, Pooler, PoolState, ShelfEntry
from tests.live.panel_programs import TestWorker
from tests.live.pools.conftest import Live, live
from tests.live.v2.conftest import Answer, Managed

__all__ = ["live"]
pytestmark = pytest.mark.django_db(transaction=True)
CLIENTS = 20
SIZE = 8  # twelve of these fit into the 97 connections of the cluster


def pool_of(name: str, size: int = 1) -> dict[str, object]:
    return {"name": name, "user": "app", "db": "app", "mode": "transaction", "size": size}


def at_once(asked: list[tuple[str, str, object]], managed: Managed) -> list[Answer]:
    """All requests at the same moment, each by a client of its own."""
    ready = threading.Barrier(len(asked))

    def send(one: tuple[str, str, object]) -> Answer:
        ready.wait(30)
        return managed.send(*one)

    with ThreadPoolExecutor(len(asked)) as clients:
        return list(clients.map(send, asked))


@contextmanager
def watched_budget(cluster: Cluster) -> Iterator[list[int]]:
    """Collects how much of the budget is over, while the block runs."""
    over: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            over.append(budget.of_cluster(cluster).over)
        connection.close()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield over
    finally:
        ended.set()
        thread.join()


def test_twenty_clients_create_and_delete_at_once(managed: Managed, database: str, live: Live) -> None:
    names = [f"pool-{number:02}" for number in range(CLIENTS)]
    made = at_once([("POST", f"{database}/pools", pool_of(name)) for name in names], managed)
    assert Counter(answer.status for answer in made) == {201: CLIENTS}, [answer.body for answer in made]
    assert sorted(Pool.objects.filter(state=PoolState.APPLIED).values_list("name", flat=True)) == names
    assert sorted(live()) == names

    halves = [("DELETE", f"{database}/pools/{name}", None) for name in names[:10]]
    halves += [("POST", f"{database}/pools", pool_of(f"new-{number}")) for number in range(10)]
    assert Counter(answer.status for answer in at_once(halves, managed)) == {204: 10, 201: 10}
    left = sorted([*names[10:], *(f"new-{number}" for number in range(10))])
    assert sorted(Pool.objects.values_list("name", flat=True)) == left
    assert sorted(live()) == left


def test_of_twenty_that_want_one_name_one_gets_it(managed: Managed, database: str, live: Live) -> None:
    made = at_once([("POST", f"{database}/pools", pool_of("web"))] * CLIENTS, managed)
    assert Counter(answer.status for answer in made) == {201: 1, 409: CLIENTS - 1}
    assert list(live()) == ["web"]
    gone = at_once([("DELETE", f"{database}/pools/web", None)] * CLIENTS, managed)
    assert {answer.status for answer in gone} <= {204, 404}
    assert (Pool.objects.count(), live()) == (0, {})


def test_the_budget_is_never_exceeded(managed: Managed, database: str, cluster: Cluster, live: Live) -> None:
    asked = [("POST", f"{database}/pools", pool_of(f"pool-{number:02}", SIZE)) for number in range(CLIENTS)]
    with watched_budget(cluster) as over:
        made = at_once(asked, managed)
    fitting = budget.of_cluster(cluster).available // SIZE
    assert Counter(answer.status for answer in made) == {201: fitting, 422: CLIENTS - fitting}
    assert max(over) == 0
    assert len(live()) == fitting


def test_a_free_cluster_is_claimed_once(managed: Managed, database: str, cluster: Cluster) -> None:
    ShelfEntry.objects.create(cluster=cluster, name=cluster.name, size="db-s-1vcpu-1gb", region="nyc1")
    asked = {"engine": "pg", "size": "db-s-1vcpu-1gb", "region": "nyc1", "num_nodes": 1}
    made = at_once([("POST", "databases", asked | {"name": f"orders-{number}"}) for number in range(CLIENTS)], managed)
    assert Counter(answer.status for answer in made) == {201: 1, 422: CLIENTS - 1}
    (name,) = (answer.body["database"]["name"] for answer in made if answer.status == 201)
    assert Cluster.objects.get().name == name
    gone = at_once([("DELETE", database, None)] * 5, managed)
    assert {answer.status for answer in gone} <= {204, 404, 409}
    assert (Cluster.objects.get().name, ShelfEntry.objects.get().claimed_at) == ("live", None)


def until(condition: Callable[[], bool], within_s: float) -> None:
    """Wait for it; fails at the deadline."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, condition
        time.sleep(0.005)


def test_a_worker_that_is_killed_during_a_create_leaves_the_truth(
    managed: Managed, database: str, worker: TestWorker, live: Live
) -> None:
    with ThreadPoolExecutor(1) as client:
        asked = client.submit(managed.send, "POST", f"{database}/pools", pool_of("web"))
        until(Pooler.objects.exclude(apply_token=None).exists, 10)
        worker.kill()
        worker.stop()
        worker.log_path.unlink()
        worker.start()
        answer = asked.result()
    until(lambda: not Pool.objects.unsettled().exists(), 60)
    if answer.status == 201:
        assert list(live()) == ["web"]
    else:
        assert (answer.status in (409, 422, 503), Pool.objects.count(), live()) == (True, 0, {})
