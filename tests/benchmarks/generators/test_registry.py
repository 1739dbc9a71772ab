"""What is known of generators."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.errors import IllegalTransition
from benchmarks.generators import heartbeats, registry
from benchmarks.generators.heartbeats import Heartbeat
from benchmarks.models import Generator, Run, Status
from panel.quickstart.ports import free_port


def test_a_heartbeat_counts_for_a_while():
    now = timezone.now()
    assert Heartbeat("x", now - heartbeats.ALIVE_WITHIN).is_alive(now)
    assert not Heartbeat("x", now - heartbeats.ALIVE_WITHIN - timedelta(seconds=1)).is_alive(now)


def test_without_redis_those_that_described_themselves_are_remembered(db, settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    Generator.objects.create(name="east", engines={"pgbench": "15.18"})
    (east,), why = registry.known_or_remembered()
    assert (east.name, east.alive, east.is_alive, east.engines) == ("east", None, False, {"pgbench": "15.18"})
    assert "redis can't be reached" in why


def test_a_part_stands_for_its_whole_which_is_on_no_generator_itself(seen):
    seen("east")
    seen("west")
    whole = Run.objects.enqueue(status=Status.RUNNING, wanted_generators=["east", "west"], generator="east, west")
    for name in ("east", "west"):
        Run.objects.enqueue(status=Status.RUNNING, parent=whole, wanted_generators=[name], generator=name)
    assert [(one.name, one.run) for one in registry.known()] == [("east", whole), ("west", whole)]


def test_runs_that_wait_for_it_are_counted(seen):
    seen("east")
    Run.objects.enqueue(generator="east")
    Run.objects.enqueue()
    assert [one.queued for one in registry.known()] == [1]


def test_only_one_that_is_gone_is_forgotten(seen):
    seen("east")
    with pytest.raises(IllegalTransition, match="'east' is alive"):
        registry.forget("east")
    assert registry.forget("nobody") is False
