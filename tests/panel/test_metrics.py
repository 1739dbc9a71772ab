"""/metrics: who may read it, what the panel tells of itself, and that a dead pooler costs no time."""

import threading
import time
from ipaddress import ip_network

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.generators import heartbeats
from benchmarks.models import Run
from pools.models import PoolerKind
from pools.monitoring import sampler
from pools.monitoring.sampler import ConsoleSnapshot
from pools.poolers import KINDS
from tests.callers import anonymous, bearer, queries_of
from tests.pools.monitoring.records import an_event
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db


def samples(text: str) -> dict[tuple[str, ...], float]:
    """(name, label values…) → value."""
    families = text_string_to_metric_families(text)
    return {(one.name, *one.labels.values()): one.value for family in families for one in family.samples}


def test_the_panel_tells_of_itself():
    Run.objects.enqueue()
    pool = a_pool(pooler=a_pooler(name="edge"))
    an_event(pool)
    answer = bearer("read").get("/metrics")
    assert answer["Content-Type"].startswith("text/plain; version=")
    found = samples(answer.content.decode())
    assert found["pooldeck_runs", "queued"] == 1
    assert found["pooldeck_pools", "pending"] == 1
    assert found["pooldeck_events_open", "waiting"] == 1
    assert found["pgbouncer_up", "edge"] == 0


def test_it_tells_for_how_long_each_worker_has_taken_nothing_although_work_waits(monkeypatch):
    monkeypatch.setattr(heartbeats, "stalls_s", lambda: {"east": 0.0, "west": 31.5})
    found = samples(bearer("read").get("/metrics").content.decode())
    stalled = {labels[1]: value for labels, value in found.items() if labels[0] == "pooldeck_worker_stalled_seconds"}
    assert stalled == {"east": 0, "west": 31.5}


@pytest.mark.parametrize(("client", "status"), [(anonymous, 401), (lambda: bearer("run"), 403), (bearer, 200)])
def test_reading_needs_a_token_that_may_read(client, status):
    assert client().get("/metrics").status_code == status


def test_a_neighbor_who_is_allowed_needs_no_token(settings):
    settings.METRICS_ALLOW = [ip_network("10.1.0.0/16")]
    assert Client(REMOTE_ADDR="10.1.2.3").get("/metrics").status_code == 200
    assert Client(REMOTE_ADDR="10.2.2.3").get("/metrics").status_code == 401
    assert Client(REMOTE_ADDR="").get("/metrics").status_code == 401


def test_it_can_only_be_read():
    assert bearer().post("/metrics").status_code == 405


def test_a_console_that_hangs_does_not_make_the_scrape_slow(monkeypatch):
    a_pooler(name="hangs")
    answers, answered = threading.Event(), threading.Event()

    def sample(pooler):
        answers.wait(60)
        answered.set()

    monkeypatch.setitem(vars(KINDS[PoolerKind.PGBOUNCER]), "sample", sample)
    text = bearer().get("/metrics").content.decode()
    assert not answered.is_set()
    assert samples(text)["pgbouncer_up", "hangs"] == 0
    answers.set()
    assert answered.wait(30)  # the thread that hangs ends before the test does
    sampler._cache.clear()


def test_a_scrape_shows_the_last_known_answer_with_its_age_while_the_console_hangs(monkeypatch):
    pooler = a_pooler(name="hangs")
    known = sampler._cache.setdefault(pooler.pk, sampler._CachedSnapshot())
    rows = {"pools": [{"database": "web", "user": "app", "cl_active": 3}]}
    known.snapshot, known.version = ConsoleSnapshot(at=time.time() - 40, rows=rows), pooler.version
    answers = threading.Event()
    monkeypatch.setitem(vars(KINDS[PoolerKind.PGBOUNCER]), "sample", lambda _: answers.wait(60))
    monkeypatch.setattr("panel.metrics.FIRST_S", 60)  # it is not waited for
    found = samples(bearer().get("/metrics").content.decode())
    assert found["pgbouncer_up", "hangs"] == 1
    assert found["pgbouncer_pools_client_active_connections", "hangs", "web", "app"] == 3
    assert 40 <= found["pooldeck_console_age_seconds", "hangs"] < 50
    answers.set()
    while pooler.pk in sampler._polled:  # the thread ends before the test does
        time.sleep(0.01)
    sampler._cache.clear()


def test_it_costs_the_same_with_one_and_three_poolers(monkeypatch):
    monkeypatch.setattr("panel.metrics.FIRST_S", 60)  # a console still unanswered is polled again, by a query more
    client = bearer()
    a_pool()
    once = queries_of(client, "/metrics")
    a_pool()
    a_pool()
    assert queries_of(client, "/metrics") == once
