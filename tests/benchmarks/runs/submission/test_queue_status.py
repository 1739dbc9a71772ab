"""What queued runs wait for."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.models import Run, Status
from benchmarks.runs.submission import queue_status
from benchmarks.runs.submission.queue_status import SharedResource
from pools.models import Cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo():
    return Cluster.objects.create(name="demo", host="db.example", admin_user="postgres")


def test_a_queued_run_waits_for_the_active_one_and_its_time(demo):
    began = timezone.now() - timedelta(seconds=10)
    active = Run.objects.enqueue(
        cluster=demo, status=Status.RUNNING, started_at=began, load_began_at=began, options={"duration": 30}
    )
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo))
    assert (found.run, found.ahead) == (active, 0)
    assert found.left_s == pytest.approx(20, abs=1)


def test_the_second_of_a_pair_waits_for_the_first(demo):
    first = Run.objects.enqueue(cluster=demo, group="5b0b5f5e-8a53-4b6a-a2f0-4f7a0a8c1d11")
    second = Run.objects.enqueue(cluster=demo, group=first.group)
    assert queue_status.waits_for(second) == queue_status.QueueStatus(first, 1, None, SharedResource.GROUP)


def test_the_number_of_runs_ahead_is_a_sentence_of_its_own(demo):
    Run.objects.enqueue(cluster=demo)
    Run.objects.enqueue(cluster=demo)
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo))
    assert found.sentences == ["waits for run 1 on cluster demo", "2 runs go before this one"]


def test_nothing_stands_before_a_lone_run(demo):
    assert queue_status.waits_for(Run.objects.enqueue(cluster=demo)) is None


@pytest.mark.parametrize("bound", [{"wanted_generators": ["east"]}, {}])
def test_a_run_that_was_claimed_since_it_was_read_does_not_wait_for_itself(demo, seen, bound):
    seen("east")
    run = Run.objects.enqueue(cluster=demo, **bound)
    Run.objects.filter(pk=run.pk).update(status=Status.STARTING, generator="east")
    assert queue_status.waits_for(run) is None


def test_a_run_waits_for_the_one_on_its_generator(demo, seen):
    seen("east")
    active = Run.objects.enqueue(status=Status.RUNNING, generator="east", options={"duration": 30})
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo, generator="east", wanted_generators=["east"]))
    assert (found.run, found.shared, found.name, found.missing) == (active, SharedResource.GENERATOR, "east", ())
    assert found.sentences == ["waits for run 1 on generator east, about 30 s left"]


def test_a_run_over_several_waits_for_whichever_is_busy(demo, seen):
    seen("east")
    seen("west")
    active = Run.objects.enqueue(status=Status.RUNNING, generator="west")
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo, wanted_generators=["east", "west"]))
    assert (found.run, found.shared, found.name) == (active, SharedResource.GENERATOR, "west")


def test_while_all_are_busy_any_run_waits_for_the_one_that_ends_first(demo, seen):
    for name, duration in (("east", 300), ("west", 30)):
        seen(name)
        Run.objects.enqueue(status=Status.RUNNING, generator=name, options={"duration": duration})
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo))
    assert (found.run.number, found.left_s) == (2, 30)
    assert found.sentences == ["waits for run 2 on generator west, as all are busy, about 30 s left"]


def test_a_generator_that_is_gone_is_told_with_when_it_was_seen(demo, seen):
    seen("west")
    seen("east", ago_s=40)
    found = queue_status.waits_for(Run.objects.enqueue(cluster=demo, wanted_generators=["east", "north", "west"]))
    silent, unknown = found.sentences
    assert (found.run, unknown) == (None, "its generator north is not known any more")
    assert re.fullmatch(r"its generator east was last seen 4\d s ago", silent)


def test_without_any_generator_or_any_that_can_the_run_says_so(demo, seen):
    run = Run.objects.enqueue(cluster=demo, engine="jmeter")
    assert queue_status.waits_for(run).sentences == ["no generator is alive: start a worker"]
    seen("east", engines={"pgbench": "15.18"})
    assert queue_status.waits_for(run).sentences == ["no generator that is alive has jmeter"]


def test_a_run_alongside_waits_for_nobody(demo, seen):
    seen("east")
    Run.objects.enqueue(cluster=demo, status=Status.RUNNING, generator="east")
    Run.objects.enqueue(cluster=demo)
    assert queue_status.waits_for(Run.objects.enqueue(cluster=demo, alongside=True)) is None


def test_a_run_that_is_not_queued_waits_for_nothing(demo):
    assert queue_status.waits_for(Run.objects.enqueue(cluster=demo, status=Status.CANCELLED)) is None


def test_no_time_is_named_for_a_run_by_transactions(demo):
    run = Run.objects.enqueue(cluster=demo, status=Status.RUNNING, options={"transactions": 10, "duration": None})
    assert queue_status.left_s(run) is None
