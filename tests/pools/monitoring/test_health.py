"""The health of pools, by the last poll of their pooler."""

import time

import pytest
from django.test import Client

from pools.models import Pooler
from pools.monitoring import health, sampler
from pools.monitoring.health import Health, PoolHealth
from pools.poolers.console_sample import ConsoleSample, PoolFigures
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.callers import bearer, person
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db
FULL = PoolFigures(cl_active=10, cl_waiting=3, sv_active=10, maxwait_ms=1200)
FREE = PoolFigures(cl_active=10, cl_waiting=3, sv_active=9)


@pytest.fixture
def pooler(monkeypatch: pytest.MonkeyPatch) -> Pooler:
    """A pooler that was polled just now: one pool is full, one has a queue beside free servers, one is busy."""
    figures = {"full": FULL, "free": FREE, "busy": PoolFigures(cl_active=10, sv_active=10)}
    monkeypatch.setattr(PgBouncer, "sample", lambda *_: ConsoleSample(figures))
    made = a_pooler(name="edge")
    sampler.latest(made)
    return made


def test_a_pool_is_saturated_if_clients_wait_while_all_servers_work(pooler: Pooler) -> None:
    pools = [a_pool(name=name, pooler=pooler, size=10) for name in ("full", "free", "busy", "never-used")]
    found = health.of_pools(pools)
    states = [found[pool.pk].health for pool in pools]
    assert states == [Health.SATURATED, Health.WAITING, Health.OK, Health.OK]
    assert all(time.time() - (found[pool.pk].at or 0) < 60 for pool in pools)


def test_it_is_unknown_of_a_pooler_that_was_not_polled_lately(pooler: Pooler, monkeypatch: pytest.MonkeyPatch) -> None:
    full, unpolled = a_pool(name="full", pooler=pooler), a_pool(name="other", pooler=a_pooler(name="unpolled"))
    assert health.of_pools([unpolled])[unpolled.pk] == PoolHealth(Health.UNKNOWN)
    monkeypatch.setattr(health, "OLDEST_S", 0.0)
    assert health.of_pools([full])[full.pk] == PoolHealth(Health.UNKNOWN)


def test_the_api_has_it_beside_the_state(pooler: Pooler) -> None:
    pool = a_pool(name="full", pooler=pooler, size=10)
    one = bearer("read").get(f"/api/v1/pools/{pool.pk}/").json()
    (listed,) = bearer("read").get("/api/v1/pools/").json()["results"]
    assert (one["state"], one["health"]["state"]) == ("pending", "saturated")
    assert listed["health"] == one["health"]


def test_metrics_name_the_pools_whose_clients_wait(pooler: Pooler) -> None:
    for name in ("full", "free", "busy"):
        a_pool(name=name, pooler=pooler, size=10)
    text = bearer("read").get("/metrics").content.decode()
    lines = [line for line in text.splitlines() if line.startswith("pooldeck_pool_health{")]
    assert lines == [
        'pooldeck_pool_health{health="waiting",pool="free",pooler="edge"} 1.0',
        'pooldeck_pool_health{health="saturated",pool="full",pooler="edge"} 1.0',
    ]


def test_its_badge_stands_in_the_rows_of_lists_once_the_consoles_were_asked(pooler: Pooler) -> None:
    a_pool(name="full", pooler=pooler, size=10)
    browser = Client()
    browser.force_login(person())
    first, polled = browser.get("/pools/"), browser.get("/pools/", headers={"HX-Request": "true"})
    assert "saturated" not in first.content.decode()
    assert "saturated" in polled.content.decode()
