"""Records without servers, clients of /v2/, and a worker that settles pools at once."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from rest_framework.test import APIClient

from pools import task_queue
from pools.managed_api import config
from pools.managed_api import pools as managed_pools
from pools.models import Cluster, Pool, Pooler, PoolState, ShelfEntry
from tests.callers import bearer
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler


class InstantWorker:
    """Settles what is pending as soon as an apply is asked for; `refuse` makes it refuse, `stop` do nothing."""

    def __init__(self) -> None:
        self.state, self.reason, self.running = PoolState.APPLIED, "", True

    def refuse(self, reason: str) -> None:
        self.state, self.reason = PoolState.ROLLED_BACK, reason

    def stop(self, reason: str = "") -> None:
        self.running, self.reason = False, reason

    def ask(self, pooler_ids: Iterable[UUID], author: Any = None) -> None:
        pooler_ids = list(pooler_ids)
        if self.running:
            settled = {"settings_state": self.state, "settings_reason": self.reason}
            Pooler.objects.filter(pk__in=pooler_ids, settings_state=PoolState.PENDING).update(**settled)
        unsettled = Pool.objects.filter(pooler__in=pooler_ids).unsettled()
        if not self.running:
            unsettled.update(state_reason=self.reason)
            return
        unsettled.filter(removal_requested_at__isnull=False).delete()
        unsettled.update(state=self.state, state_reason=self.reason)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> InstantWorker:
    """Stands in for the queue and its worker; a stopped one is waited for a moment only."""
    made = InstantWorker()
    monkeypatch.setattr(task_queue, "ask", made.ask)
    for module in (managed_pools, config):
        monkeypatch.setattr(module, "APPLIED_WITHIN_S", 0.3)
    return made


@pytest.fixture(autouse=True)
def fresh_quota() -> None:
    """No test counts the requests of another."""
    cache.clear()


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster as a good check left it, whose role `app` has a known password."""
    made = make_cluster(
        roles=[
            {"name": name, "can_login": name != "nologin", "superuser": name == "postgres", "connection_limit": -1}
            for name in ("app", "nologin", "postgres")
        ]
    )
    made.keep_password("app", "app-secret")
    return made


@pytest.fixture
def pooler(db: None) -> Pooler:
    """The only PgBouncer."""
    return make_pooler()


@pytest.fixture
def pool(cluster: Cluster, pooler: Pooler) -> Pool:
    """An applied pool of the fixed user `app`."""
    return make_pool(cluster, pooler, "orders", user="app", mode="session")


@pytest.fixture
def admin(db: None) -> APIClient:
    """A client with every permission."""
    return bearer()


@pytest.fixture
def reader(db: None) -> APIClient:
    """A client with database:read only."""
    return bearer("read")


@pytest.fixture
def free_cluster(db: None) -> Cluster:
    """A cluster on the shelf."""
    made = make_cluster("spare-1")
    ShelfEntry.objects.create(cluster=made, name=made.name, size="db-s-1vcpu-2gb", region="nyc1")
    return made


def url_of(cluster: Cluster, rest: str = "") -> str:
    """The address of a cluster, or of something below it."""
    return f"/v2/databases/{cluster.pk}{rest}"
