"""What queued runs wait for."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks import waiting
from benchmarks.models import Run, Status
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
    found = waiting.waits_for(Run.objects.enqueue(cluster=demo))
    assert (found.run, found.ahead) == (active, 0)
    assert found.left_s == pytest.approx(20, abs=1)


def test_the_second_of_a_pair_waits_for_the_first(demo):
    first = Run.objects.enqueue(cluster=demo, group="5b0b5f5e-8a53-4b6a-a2f0-4f7a0a8c1d11")
    second = Run.objects.enqueue(cluster=demo, group=first.group)
    assert waiting.waits_for(second) == waiting.Waiting(first, 1, None, "of the same group")


def test_nothing_stands_before_a_lone_run(demo):
    assert waiting.waits_for(Run.objects.enqueue(cluster=demo)) is None


def test_a_run_that_is_not_queued_waits_for_nothing(demo):
    assert waiting.waits_for(Run.objects.enqueue(cluster=demo, status=Status.CANCELLED)) is None


def test_no_time_is_named_for_a_run_by_transactions(demo):
    run = Run.objects.enqueue(cluster=demo, status=Status.RUNNING, options={"transactions": 10, "duration": None})
    assert waiting.left_s(run) is None
