"""Which runs are sent to workers, and what happens when the broker is away."""

import pytest

from benchmarks.models import Run, Status
from benchmarks.runs.submission import dispatch, in_flight
from panel import celery_app
from panel.quickstart.ports import free_port
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch) -> list[tuple[Run, str]]:
    """The runs that would have gone to the broker, each with the generator it would have gone to."""
    found: list[tuple[Run, str]] = []
    monkeypatch.setattr(dispatch, "dispatch", lambda run, to="": found.append((run, run.generator or to)) or True)
    return found


@pytest.fixture
def north_and_south(seen) -> None:
    """Two generators that live."""
    seen("north", engines={"pgbench": "15.18"})
    seen("south", engines={"pgbench": "15.18", "jmeter": "5.6"})


def test_the_earliest_run_of_each_cluster_is_sent_to_who_is_idle(sent, north_and_south):
    first, second = (Run.objects.enqueue(cluster=cluster) for cluster in [make_cluster("one")] * 2)
    other = Run.objects.enqueue(cluster=make_cluster("two"))
    dispatch.dispatch_due()
    assert sent == [(first, "north"), (other, "south")]
    for run, generator in sent:
        taken(run, generator)
    sent.clear()
    assert (dispatch.dispatch_due(), sent) == (0, [])
    Run.objects.get(pk=first.pk).finish(Status.SUCCEEDED)
    dispatch.dispatch_due()
    assert sent == [(second, "north")]


def taken(run: Run, generator: str) -> None:
    """Let a generator take the message of a run, as the task of its worker does."""
    assert Run.objects.claim(str(run.pk), generator)
    in_flight.end(run.pk)


def test_what_is_in_flight_is_not_sent_again_and_keeps_its_generator_from_other_runs(sent, north_and_south):
    first, second, third = (Run.objects.enqueue(cluster=make_cluster(name)) for name in ("one", "two", "three"))
    assert [dispatch.dispatch_due() for _ in range(3)] == [2, 0, 0]
    assert sent == [(first, "north"), (second, "south")]
    sent.clear()
    in_flight.end(second.pk)  # refused, or lost
    dispatch.dispatch_due()
    assert sent == [(second, "south")]
    assert third.status == Status.QUEUED


def test_of_two_dispatches_that_see_the_same_each_message_is_sent_by_one(sent, north_and_south, monkeypatch):
    first, second = (Run.objects.enqueue(cluster=make_cluster(name)) for name in ("one", "two"))
    monkeypatch.setattr(in_flight, "generators", lambda names: set())  # as the other saw it before it sent
    assert [dispatch.dispatch_due() for _ in range(2)] == [2, 0]
    assert sent == [(first, "north"), (second, "south")]


def test_a_generator_whose_heartbeat_is_late_is_sent_a_run_after_all_others(sent, seen):
    seen("east", ago_s=8)
    seen("west")
    first, second = (Run.objects.enqueue(cluster=make_cluster(name)) for name in ("one", "two"))
    dispatch.dispatch_due()
    assert sent == [(first, "west"), (second, "east")]


def test_this_worker_sends_the_next_run_to_itself(sent, north_and_south, settings):
    settings.GENERATOR = "south"
    run = Run.objects.enqueue()
    dispatch.dispatch_due()
    assert sent == [(run, "south")]


def test_a_new_run_is_sent_once_it_is_due_and_somebody_is_idle(sent, seen):
    seen("north")
    cluster = make_cluster()
    first, second = (Run.objects.enqueue(cluster=cluster) for _ in range(2))
    assert dispatch.dispatch_new(first)
    taken(first, "north")
    assert not dispatch.dispatch_new(second)
    assert not dispatch.dispatch_new(Run.objects.enqueue(cluster=make_cluster("other")))
    assert sent == [(first, "north")]


def test_a_run_over_several_keeps_all_of_them_from_other_runs(sent, north_and_south):
    whole = Run.objects.enqueue(wanted_generators=["north", "south"])
    Run.objects.enqueue(cluster=make_cluster())
    dispatch.dispatch_due()
    assert sent == [(whole, "north")]


def test_a_message_that_could_not_be_sent_is_in_flight_no_longer(seen, monkeypatch):
    seen("north")
    Run.objects.enqueue()
    monkeypatch.setattr(dispatch, "dispatch", lambda run, to="": False)
    assert dispatch.dispatch_due() == 0
    monkeypatch.setattr(dispatch, "dispatch", lambda run, to="": True)
    assert dispatch.dispatch_due() == 1


def test_who_is_idle_is_sent_one_run_however_many_wait(sent, seen, django_assert_max_num_queries):
    seen("north", engines={"pgbench": "15.18"})
    runs = [Run.objects.enqueue(cluster=make_cluster(f"cluster {number}")) for number in range(20)]
    with django_assert_max_num_queries(6):
        assert dispatch.dispatch_due() == 1
    assert sent == [(runs[0], "north")]


def test_while_all_are_busy_nothing_is_sent(sent, seen):
    seen("north")
    Run.objects.claim(str(Run.objects.enqueue(cluster=make_cluster("one")).pk), "north")
    Run.objects.enqueue(cluster=make_cluster("two"))
    assert (dispatch.dispatch_due(), sent) == (0, [])


def test_a_run_is_sent_to_the_generator_it_names_once_that_lives(sent, seen):
    run = Run.objects.enqueue(generator="north", wanted_generators=["north"])
    seen("south")
    assert dispatch.dispatch_due() == 0
    seen("north")
    dispatch.dispatch_due()
    assert sent == [(run, "north")]


def test_a_run_over_several_is_sent_once_all_of_them_live(sent, seen):
    run = Run.objects.enqueue(wanted_generators=["north", "south"])
    seen("south")
    assert dispatch.dispatch_due() == 0
    seen("north")
    dispatch.dispatch_due()
    assert sent == [(run, "north")]


def test_a_run_goes_to_a_generator_that_has_its_engine(sent, north_and_south):
    run = Run.objects.enqueue(engine="jmeter")
    dispatch.dispatch_due()
    assert sent == [(run, "south")]


def test_runs_alongside_are_all_sent(sent, north_and_south):
    cluster = make_cluster()
    Run.objects.claim(str(Run.objects.enqueue(cluster=cluster).pk), "north")
    runs = [Run.objects.enqueue(cluster=cluster, alongside=True) for _ in range(3)]
    dispatch.dispatch_due()
    assert [run for run, _ in sent] == runs


def test_before_any_heartbeat_a_run_goes_to_whoever_comes_first(sent, seen):
    run = Run.objects.enqueue()
    dispatch.dispatch_due()
    assert sent == [(run, "")]


def test_without_redis_nothing_is_sent(sent, settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    Run.objects.enqueue()
    assert (dispatch.dispatch_due(), sent) == (0, [])


def test_each_message_goes_to_the_queue_of_who_is_to_take_it(monkeypatch):
    queues: list[str | None] = []
    monkeypatch.setattr(
        dispatch.current_app, "send_task", lambda *_, queue=None, **__: queues.append(queue), raising=False
    )
    for fields in ({}, {"generator": "north"}, {"wanted_generators": ["west", "east"]}):
        dispatch.dispatch(Run.objects.enqueue(**fields))
    dispatch.dispatch(Run.objects.enqueue(), "south")
    assert queues == ["runs", "generator.north", "generator.west", "generator.south"]


def test_a_broker_that_is_away_leaves_the_run_queued(monkeypatch):
    monkeypatch.setattr(celery_app.conf, "broker_write_url", f"redis://127.0.0.1:{free_port()}/0")
    run = Run.objects.enqueue()
    assert dispatch.dispatch(run) is False
    assert Run.objects.get().status == Status.QUEUED
