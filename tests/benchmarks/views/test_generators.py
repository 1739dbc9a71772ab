"""The page of generators."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Generator, Run, Status
from panel.quickstart.ports import free_port
from pools.models import Host
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

LIST = "/generators/"


def forget(name: str) -> str:
    return f"/generators/{name}/forget/"


def test_an_empty_list_says_how_to_start_one(staff, seen):
    assert "POOLDECK_GENERATOR=rack-2" in page_of(staff.get(LIST))


def test_the_list_shows_what_each_has_and_does(staff, seen):
    cluster = a_cluster(name="demo")
    files = {"jmeter": {"a.jmx": "", "b.jmx": "it holds a listener"}}
    near = seen("near", engines={"pgbench": "15.18", "jmeter": "5.6"}, files=files)
    near.round_trips = {str(cluster.pk): {"min_ms": 0.1, "avg_ms": 0.25, "max_ms": 0.5, "connect_ms": 9.0}}
    near.save(update_fields=["round_trips"])
    run = Run.objects.enqueue(cluster=cluster, status=Status.RUNNING, generator="near")
    Run.objects.enqueue(cluster=cluster, generator="near", wanted_generators=["near"])
    seen("far", ago_s=60)
    text = page_of(staff.get(LIST))
    parts = ("near.example", "8 cores", "pgbench", "15.18", "jmeter", "demo", "0.25", "alive", "gone", "Unregister")
    for part in (*parts, "2 JMeter plans", "it holds a listener"):
        assert part in text
    assert f'href="/runs/{run.pk}/"' in text
    assert 'href="/runs/?status=queued">1<' in text


def test_a_cluster_out_of_reach_says_why(staff, seen):
    cluster = a_cluster(name="demo")
    seen("near", engines={})
    Generator.objects.update(round_trips={str(cluster.pk): {"error": "connection refused"}})
    assert 'title="connection refused">unreachable<' in page_of(staff.get(LIST))


def test_the_list_takes_the_same_queries_for_one_and_three(staff, seen):
    seen("one", engines={})
    one = queries_of(staff, LIST)
    seen("two", engines={})
    seen("three", engines={})
    assert queries_of(staff, LIST) == one


def test_without_redis_the_page_says_that_nobody_knows_who_lives(staff, settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    Generator.objects.create(name="near")
    text = page_of(staff.get(LIST))
    assert "unknown which generators live" in text
    assert "Unregister" not in text


def test_one_that_is_gone_is_forgotten(staff, seen):
    seen("far", ago_s=60, engines={})
    answer = staff.post(forget("far"), follow=True)
    assert "Generator far was removed." in page_of(answer)
    assert Generator.objects.count() == 0


def test_one_that_lives_stays(staff, seen):
    seen("near", engines={})
    answer = staff.post(forget("near"), follow=True)
    assert "is alive: stop its worker first" in page_of(answer)
    assert Generator.objects.count() == 1


def test_forgetting_asks_for_a_name_that_is_known_and_for_staff(staff, reader, seen):
    assert staff.post(forget("nobody")).status_code == 404
    assert staff.get(forget("nobody")).status_code == 405
    assert reader.post(forget("nobody")).status_code == 403
    assert reader.get(LIST).status_code == 200


@pytest.fixture
def over_two(seen):
    """A run over two generators, as its page shows it."""
    whole = Run.objects.enqueue(
        cluster=a_cluster(name="demo"),
        status=Status.RUNNING,
        wanted_generators=["east", "west"],
        generator="east, west",
        conditions={"start": {"spread_ms": 3.5}},
    )
    for name in ("east", "west"):
        values = {"options": {"clients": 4}, "conditions": {"start": {"late_ms": 1.25}}}
        Run.objects.enqueue(parent=whole, generator=name, wanted_generators=[name], status=Status.RUNNING, **values)
    return whole


def test_the_page_of_a_run_over_several_leads_to_its_parts_and_back(staff, over_two):
    text = page_of(staff.get(f"/runs/{over_two.pk}/"))
    assert "started within 3.5" in text
    for part in over_two.parts.all():
        assert f'href="/runs/{part.pk}/">{part.generator}</a>' in text
        of_part = page_of(staff.get(f"/runs/{part.pk}/"))
        assert f'href="/runs/{over_two.pk}/">run {over_two.number}</a>' in of_part


def test_parts_are_not_listed_among_runs(staff, over_two):
    text = page_of(staff.get("/runs/"))
    assert f"/runs/{over_two.pk}/" in text
    assert not any(f"/runs/{part.pk}/" in text for part in over_two.parts.all())


def test_the_form_offers_those_that_live_and_keeps_what_was_ticked(staff, seen):
    seen("near", engines={})
    seen("far", ago_s=60, engines={})
    text = page_of(staff.get("/runs/new/"))
    assert 'value="near"' in text
    assert 'value="far"' not in text
    answer = staff.post("/runs/new/", {"route": "direct", "generators": ["near", "far"], "alongside": "on"})
    text = page_of(answer)
    assert text.count('name="generators" value="near" checked') == text.count('value="far" checked') == 1


def test_a_queued_run_says_which_generator_it_misses(staff, seen):
    seen("far", ago_s=60, engines={})
    run = Run.objects.enqueue(cluster=a_cluster(), wanted_generators=["far"], generator="far")
    assert re.search(r"Its generator far was last seen 6\d s ago\.", page_of(staff.get(f"/runs/{run.pk}/")))


def test_a_run_says_which_generator_it_named(staff):
    named = Run.objects.enqueue(cluster=a_cluster(name="demo"), wanted_generators=["app-1"], generator="app-1")
    assert "from generator app-1" in page_of(staff.get(f"/runs/{named.pk}/"))
    free = Run.objects.enqueue(cluster=named.cluster, generator="local")
    assert "from generator" not in page_of(staff.get(f"/runs/{free.pk}/"))


def test_a_host_with_pgbench_is_added_listed_and_removed(staff, seen):
    seen("near", engines={"pgbench": "15.18"})
    programs = {"pgbench": {"path": "/usr/bin/pgbench", "version": "pgbench (PostgreSQL) 16.4"}}
    checked_at = timezone.now() - timedelta(days=3)
    described = {"address": "192.0.2.7", "user": "app", "programs": programs, "checked_at": checked_at}
    host = Host.objects.create(name="app-1", state="online", **described)
    Host.objects.create(name="bare-1", address="192.0.2.8", user="app", state="online")
    page = page_of(staff.get(LIST))
    assert "app-1 (app@192.0.2.7)" in page
    assert "bare-1" not in page
    added = page_of(staff.post(f"{LIST}add-host/", {"ssh_host": str(host.pk)}, follow=True))
    assert "Generator app-1 was added" in added
    assert "16.4" in added
    assert "3 days ago" in added, "it was last seen when it was last checked"
    assert added.count("no scripts of your own") == 1
    assert "Host app-1 has no sandbox for scripts of one&#x27;s own: install bubblewrap there, then check it." in added
    assert Generator.objects.get(name="app-1").ssh_host == host
    assert "Choose a host" in page_of(staff.post(f"{LIST}add-host/", {"ssh_host": str(host.pk)}, follow=True))
    assert "Generator app-1 was removed" in page_of(staff.post(forget("app-1"), follow=True))
    assert Host.objects.filter(pk=host.pk).exists()
