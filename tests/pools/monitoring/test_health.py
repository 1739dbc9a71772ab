"""The health of pools, by the last poll of their pooler."""

import time

import pytest
from django.test import Client

from pools.models import Entry, Pooler
from pools.monitoring import health, sampler
from pools.monitoring.health import Health, KnownHealth
from pools.poolers.console_sample import ConsoleSample, PoolFigures
from pools.poolers.pgbouncer.driver import PgBouncer
from tests.callers import bearer, person
from tests.pools.records import a_pool, a_pooler, an_entry

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
    found = health.of_each(pools)
    states = [found[pool.pk].health for pool in pools]
    assert states == [Health.SATURATED, Health.WAITING, Health.OK, Health.OK]
    assert all(time.time() - (found[pool.pk].at or 0) < 60 for pool in pools)


def test_it_is_unknown_of_a_pooler_that_was_not_polled_lately(pooler: Pooler, monkeypatch: pytest.MonkeyPatch) -> None:
    full, unpolled = a_pool(name="full", pooler=pooler), a_pool(name="other", pooler=a_pooler(name="unpolled"))
    assert health.of_each([unpolled])[unpolled.pk] == KnownHealth(Health.UNKNOWN)
    monkeypatch.setattr(health, "OLDEST_S", 0.0)
    assert health.of_each([full])[full.pk] == KnownHealth(Health.UNKNOWN)


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


def test_an_entry_is_saturated_by_its_size_or_its_limit_and_never_where_each_role_has_a_pool(pooler: Pooler) -> None:
    full = {"name": "full", "pooler": pooler}
    of_one_role = an_entry(**full, user="app", size=10)
    assert health.of_each([of_one_role])[of_one_role.pk].health == Health.SATURATED
    for limit, expected in ((0, Health.WAITING), (10, Health.SATURATED), (20, Health.WAITING)):
        Entry.objects.filter(pk=of_one_role.pk).update(user="", size=10, max_connections=limit)
        of_each_role = Entry.objects.select_related("pooler").get(pk=of_one_role.pk)
        assert health.of_each([of_each_role])[of_each_role.pk].health == expected


def test_a_pooler_is_as_its_worst_pool_or_entry_is(pooler: Pooler, django_assert_num_queries) -> None:
    unpolled = a_pooler(name="unpolled")
    assert health.of_poolers([pooler, unpolled])[pooler.pk].health == Health.WAITING, "nobody knows the sizes"
    assert health.of_poolers([unpolled])[unpolled.pk] == KnownHealth(Health.UNKNOWN)
    an_entry(name="free", pooler=pooler, user="app", size=10)
    assert health.of_poolers([pooler])[pooler.pk].health == Health.WAITING
    a_pool(name="full", pooler=pooler, size=10)
    with django_assert_num_queries(2):
        assert health.of_poolers([pooler, unpolled])[pooler.pk].health == Health.SATURATED


def test_a_pooler_with_no_queue_costs_no_query(monkeypatch, django_assert_num_queries) -> None:
    monkeypatch.setattr(PgBouncer, "sample", lambda *_: ConsoleSample({"busy": PoolFigures(sv_active=10)}))
    quiet = a_pooler(name="quiet")
    sampler.latest(quiet)
    with django_assert_num_queries(0):
        assert health.of_poolers([quiet])[quiet.pk].health == Health.OK


def test_the_api_has_that_of_entries_and_poolers(pooler: Pooler) -> None:
    entry = an_entry(name="full", pooler=pooler, user="app", size=10)
    api = bearer("read")
    one, (listed,) = api.get(f"/api/v1/entries/{entry.pk}/").json(), api.get("/api/v1/entries/").json()["results"]
    (of_pooler,) = api.get(f"/api/v1/poolers/{pooler.pk}/entries/").json()["results"]
    assert one["health"]["state"] == "saturated"
    assert listed["health"] == of_pooler["health"] == one["health"]
    (listed,) = api.get("/api/v1/poolers/").json()["results"]
    assert api.get(f"/api/v1/poolers/{pooler.pk}/").json()["health"] == listed["health"]
    assert listed["health"]["state"] == "saturated"


def test_metrics_name_entries_and_poolers_whose_clients_wait(pooler: Pooler) -> None:
    an_entry(name="full", pooler=pooler, user="app", size=10)
    text = bearer("read").get("/metrics").content.decode()
    lines = [
        line for line in text.splitlines() if line.startswith(("pooldeck_pool_health{", "pooldeck_pooler_health{"))
    ]
    assert lines == [
        'pooldeck_pool_health{health="saturated",pool="full",pooler="edge"} 1.0',
        'pooldeck_pooler_health{health="saturated",pooler="edge"} 1.0',
    ]


@pytest.mark.parametrize("tab", ["", "monitoring/?range=hour", "waiting/", "clients/"])
def test_its_badge_stands_in_the_heading_of_every_tab_and_leads_to_the_cause(pooler: Pooler, tab: str) -> None:
    pool, entry = a_pool(name="full", pooler=pooler, size=10), an_entry(name="free", pooler=pooler)
    browser = Client()
    browser.force_login(person())
    for noun, record in (("pool", pool), ("entry", entry), ("pooler", pooler)):
        if (noun, tab) == ("pooler", "clients/"):
            continue
        page = browser.get(f"/{'entries' if noun == 'entry' else f'{noun}s'}/{record.pk}/{tab}").content.decode()
        heading = page.partition("<h1")[2].partition("</h1>")[0]
        assert f'href="/{"entries" if noun == "entry" else f"{noun}s"}/{record.pk}/waiting/"' in heading, noun
        assert ("clients wait" if noun == "entry" else "saturated") in heading, noun


def test_the_lists_of_entries_and_poolers_show_it(pooler: Pooler) -> None:
    an_entry(name="full", pooler=pooler, user="app", size=10)
    browser = Client()
    browser.force_login(person())
    assert "saturated" in browser.get("/entries/", headers={"HX-Request": "true"}).content.decode()
    assert "saturated" in browser.get("/poolers/").content.decode()
