"""Which runs are sent to workers, and what happens when the broker is away."""

import pytest

from benchmarks import dispatching
from benchmarks.models import Run, Status
from panel import celery_app
from panel.quickstart.ports import free_port
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch) -> list[Run]:
    """The runs that would have gone to the broker."""
    found: list[Run] = []
    monkeypatch.setattr(dispatching, "dispatch", lambda run: found.append(run) or True)
    return found


def test_the_earliest_run_of_each_cluster_is_sent_again(sent, settings):
    settings.GENERATOR = "south"
    first, second = (Run.objects.enqueue(cluster=cluster) for cluster in [make_cluster("one")] * 2)
    other = Run.objects.enqueue(cluster=make_cluster("two"))
    dispatching.dispatch_due()
    assert sent == [first, other]
    claimed = Run.objects.claim(str(first.pk), "north")
    sent.clear()
    dispatching.dispatch_due()
    assert sent == [other]
    claimed.finish(Status.SUCCEEDED)
    sent.clear()
    dispatching.dispatch_due()
    assert sent == [second, other]


def test_a_busy_generator_sends_nothing(sent, settings):
    settings.GENERATOR = "north"
    Run.objects.claim(str(Run.objects.enqueue(cluster=make_cluster("one")).pk), "north")
    Run.objects.enqueue(cluster=make_cluster("two"))
    assert (dispatching.dispatch_due(), sent) == (0, [])


def test_a_broker_that_is_away_leaves_the_run_queued(monkeypatch):
    monkeypatch.setattr(celery_app.conf, "broker_write_url", f"redis://127.0.0.1:{free_port()}/0")
    run = Run.objects.enqueue()
    assert dispatching.dispatch(run) is False
    assert Run.objects.get().status == Status.QUEUED
