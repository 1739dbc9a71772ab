"""Which engines are offered: those of generators that live, whatever the host of the pages has."""

import pytest
from django.test import Client
from pytest_django import Settings

from benchmarks.generators import selection
from benchmarks.generators.selection import Offer
from tests.callers import person
from tests.pages import page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("warp")]


def offer(name: str) -> Offer:
    return next(one for one in selection.offers() if one.name == name)


def test_an_engine_of_a_generator_that_lives_is_offered_though_this_host_lacks_it(seen):
    seen("east", engines={"warp": "1.2", "pgbench": "15.18"})
    seen("west", engines={"warp": "1.3"})
    seen("gone", ago_s=60, engines={"warp": "1.1"})
    assert offer("warp") == Offer("warp", {"east": "1.2", "west": "1.3"})
    assert offer("warp").where == "on east, west"


def test_of_many_generators_the_first_few_are_named(seen):
    for at in range(50):
        seen(f"load-{at:02}", engines={"warp": "1.2"})
    first = "load-00, load-01, load-02, load-03 and 46 more"
    assert offer("warp").where == f"on {first}"
    assert offer("warp").is_on == f"warp is on {first}"
    assert offer("http").missing.startswith(f"no generator has it ({first} reported so)")


def test_an_engine_that_no_generator_has_is_missing_though_this_host_has_it(seen):
    seen("east", engines={"warp": "1.2"})
    seen("west", engines={})
    assert offer("http") == Offer(
        "http", {}, "no generator has it (east, west reported so): install it where one of them runs"
    )


def test_the_reason_of_this_host_is_told_where_it_lacks_it_too(seen):
    seen("east", engines={"pgbench": "15.18"})
    assert offer("warp").missing == "no generator has it (east reported so): no warp here: install it"


def test_a_generator_that_has_not_told_yet_may_have_it(seen):
    seen("east", engines={"pgbench": "15.18"})
    seen("new")
    assert offer("warp") == Offer("warp", {})


def test_where_no_generator_lives_this_host_tells(seen):
    seen("gone", ago_s=60, engines={"warp": "1.1"})
    assert (offer("warp").missing, offer("http").missing) == ("no warp here: install it", "")


def test_without_redis_those_that_told_are_believed(settings: Settings, seen, monkeypatch: pytest.MonkeyPatch):
    seen("east", engines={"warp": "1.2"})
    monkeypatch.undo()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert offer("pgbench").missing.startswith("no generator has it (east reported so)")


def test_an_engine_is_offered_for_what_it_can_do(seen):
    seen("east", engines={"warp": "1.2", "pgbench": "15.18"})
    assert "warp" in [one.name for one in selection.offers_for("load")]
    assert [one.name for one in selection.offers_for("prepare")] == ["pgbench", "sysbench", "http"]


def test_the_form_tells_who_has_the_engine_or_why_nobody_and_keeps_the_target(client: Client, seen):
    seen("east", engines={"pgbench": "15.18", "http": "3.11"})
    client.force_login(person())
    page = page_of(client.get("/runs/new/", {"database": "shop"}))
    assert "pgbench is on east<" in page
    assert "warp is not available: no generator has it (east reported so): no warp here: install it<" in page
    assert "?engine=warp" not in page
    assert "database=shop&amp;engine=http" in page
    assert "http is on east<" in page_of(client.get("/datasets/new/", {"engine": "http"}))
