"""Which generators a run may name."""

import pytest

from benchmarks.errors import InvalidGenerators, QueueDown
from benchmarks.generators import registry
from benchmarks.generators.selection import checked
from benchmarks.models import Purpose
from panel.quickstart.ports import free_port
from pools.models import Host


@pytest.fixture
def two(seen):
    seen("east", engines={"pgbench": "15.18"})
    seen("west", engines={"pgbench": "17.2", "jmeter": "5.6"})


def refusals(names, engine="pgbench", purpose=Purpose.LOAD) -> list[str]:
    with pytest.raises(InvalidGenerators) as refused:
        checked(names, engine, purpose)
    return refused.value.errors["generators"]


@pytest.mark.parametrize(("names", "kept"), [([], []), (["any"], []), ([""], []), ([" west "], ["west"])])
def test_one_or_any_is_kept(two, names, kept):
    assert checked(names, "pgbench") == kept


def test_several_are_kept_in_their_order(two):
    assert checked(["west", "east"], "pgbench") == ["west", "east"]


def test_an_unknown_name_is_refused_with_what_there_is(two):
    assert refusals(["north"]) == ["there is no generator 'north': use one that is alive (east, west)"]


def test_one_that_is_gone_is_refused_with_when_it_was_seen(two, seen):
    seen("north", ago_s=40)
    assert refusals(["north", "east"]) == [
        "generator 'north' was last seen 40 s ago: start its worker, or use one that is alive (east, west)"
    ]


def test_a_host_that_no_live_worker_can_reach_is_refused_with_what_to_start(seen):
    programs = {"pgbench": {"path": "/usr/bin/pgbench", "version": "pgbench (PostgreSQL) 16.4"}}
    registry.add_host(Host.objects.create(name="app-1", address="192.0.2.7", state="online", programs=programs))
    seen("north", ago_s=40)
    assert refusals(["app-1"]) == [
        "no worker is alive that could start a load on generator 'app-1' by SSH: start a worker that executes runs"
    ]
    seen("east")
    assert checked(["app-1"], "pgbench") == ["app-1"]


def test_an_engine_that_it_lacks_is_named(two):
    assert refusals(["east", "west"], "jmeter") == ["generator 'east' has no jmeter: use one that has it (west)"]


def test_any_is_refused_only_where_nobody_can(two):
    assert checked([], "jmeter") == []
    assert refusals([], "sysbench") == ["no generator has sysbench: install it where one of east, west runs"]


def test_one_that_has_not_described_itself_is_believed(seen):
    seen("new")
    assert checked(["new"], "jmeter") == ["new"]


def test_any_goes_alone_and_each_name_once(two):
    assert refusals(["any", "east"]) == ["any means all generators: leave it out, or name no other generator"]
    assert refusals(["east", "east"]) == ["east is named twice: name each generator once"]


def test_a_dataset_is_prepared_by_one(two):
    assert refusals(["east", "west"], purpose=Purpose.PREPARE) == [
        "a dataset is prepared by one generator: name one, or any"
    ]


def test_without_redis_any_is_believed_and_a_name_is_not(db, settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert checked([], "pgbench") == []
    with pytest.raises(QueueDown):
        checked(["east"], "pgbench")
