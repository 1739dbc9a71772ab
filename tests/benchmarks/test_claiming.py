"""Claiming and numbering by many hands at once, and the order in which runs become due."""

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from benchmarks.errors import Fenced, IllegalTransition
from benchmarks.models import Run, Status
from benchmarks.models.generators import generator_label
from benchmarks.runs.submission import split
from tests.benchmarks.records import the_options
from tests.pools.api.conftest import make_cluster

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """What each returns, all begun at the same moment in threads of their own."""
    start, answers = threading.Barrier(len(works)), [None] * len(works)

    def carry_out(at: int) -> None:
        try:
            start.wait()
            answers[at] = works[at]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=carry_out, args=(at,)) for at in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_of_many_claims_of_one_run_one_wins():
    run = Run.objects.enqueue(cluster=make_cluster())
    claims = at_once([lambda at=at: Run.objects.claim(str(run.pk), f"generator-{at}") for at in range(6)])
    assert len([claim for claim in claims if claim]) == 1
    assert Run.objects.get(pk=run.pk).attempt == 1


def test_of_many_runs_on_one_cluster_one_starts():
    cluster = make_cluster()
    runs = [Run.objects.enqueue(cluster=cluster) for _ in range(6)]
    claims = at_once([lambda run=run: Run.objects.claim(str(run.pk), f"generator-{run.number}") for run in runs])
    assert len([claim for claim in claims if claim]) == 1


def test_many_submissions_at_once_get_a_number_each():
    runs = at_once([Run.objects.enqueue] * 6)
    assert sorted(run.number for run in runs) == [1, 2, 3, 4, 5, 6]


def test_a_claimed_run_is_leased_to_its_generator():
    run = Run.objects.enqueue(cluster=make_cluster())
    claimed = Run.objects.claim(str(run.pk), "north")
    assert (claimed.status, claimed.generator, claimed.attempt) == (Status.STARTING, "north", 1)
    assert claimed.lease_until > claimed.started_at
    assert Run.objects.claim(str(run.pk), "north") is None


def test_a_generator_carries_one_run_at_a_time():
    first, second = Run.objects.enqueue(cluster=make_cluster("one")), Run.objects.enqueue(cluster=make_cluster("two"))
    assert Run.objects.claim(str(first.pk), "north")
    assert Run.objects.claim(str(second.pk), "north") is None
    assert Run.objects.claim(str(second.pk), "south")


def test_a_run_is_claimed_by_the_generator_it_names_alone():
    run = Run.objects.enqueue(cluster=make_cluster(), generator="north", wanted_generators=["north"])
    assert Run.objects.claim(str(run.pk), "south") is None
    assert Run.objects.claim(str(run.pk), "north")


def test_a_run_alongside_starts_where_others_are_and_those_that_did_not_ask_wait_for_it():
    cluster = make_cluster()
    first, beside, after = (Run.objects.enqueue(cluster=cluster, alongside=one) for one in (False, True, False))
    claimed = [Run.objects.claim(str(run.pk), "north") for run in (first, beside)]
    assert [one.generator for one in claimed] == ["north", "north"]
    claimed[0].finish(Status.SUCCEEDED)
    assert Run.objects.claim(str(after.pk), "north") is None
    claimed[1].finish(Status.SUCCEEDED)
    assert Run.objects.claim(str(after.pk), "north")


def a_spread_run(*generators: str, **fields: Any) -> Run:
    run = Run.objects.enqueue(wanted_generators=list(generators), options=the_options(clients=6), **fields)
    split.make_parts(run)
    return run


def test_a_run_over_several_claims_all_its_generators_or_none():
    busy = Run.objects.claim(str(Run.objects.enqueue(cluster=make_cluster("one")).pk), "west")
    run = a_spread_run("east", "west", cluster=make_cluster("two"))
    assert Run.objects.claim(str(run.pk), "east") is None
    assert set(run.parts.values_list("status", flat=True)) == {Status.QUEUED}
    busy.finish(Status.SUCCEEDED)
    assert Run.objects.claim(str(run.pk), "far-away") is None
    claimed = Run.objects.claim(str(run.pk), "west")
    assert (claimed.status, claimed.generator) == (Status.STARTING, "east, west")
    assert set(run.parts.values_list("status", "generator", "started_at")) == {
        (Status.STARTING, "east", None),
        (Status.STARTING, "west", None),
    }
    other = Run.objects.enqueue(cluster=make_cluster("three"))
    assert Run.objects.claim(str(other.pk), "east") is None


def test_of_runs_over_generators_that_they_share_one_starts():
    runs = [a_spread_run("east", name, cluster=make_cluster(name)) for name in ("north", "south", "west")]
    claims = at_once([lambda run=run: Run.objects.claim(str(run.pk), "east") for run in runs])
    assert len([claim for claim in claims if claim]) == 1
    started = Run.objects.exclude(parent=None).filter(status=Status.STARTING)
    assert started.count() == 2


def test_a_part_is_taken_up_once_by_its_own_generator_and_only_with_its_whole():
    run = a_spread_run("east", "west", cluster=make_cluster())
    part = run.parts.get(generator="east")
    assert Run.objects.claim(str(part.pk), "east") is None
    Run.objects.claim(str(run.pk), "east")
    assert Run.objects.claim(str(part.pk), "west") is None
    taken = at_once([lambda: Run.objects.claim(str(part.pk), "east")] * 4)
    assert len([one for one in taken if one]) == 1


def test_the_parts_of_a_queued_run_end_with_it():
    run = a_spread_run("east", "west")
    assert run.request_cancel()
    assert set(run.parts.values_list("status", flat=True)) == {Status.CANCELLED}


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["east", "west"], "east, west"),
        ([f"generator-number-{at}" for at in range(5)], "generator-number-0, generator-number-1 and 3 more"),
        (["x" * 63, "y"], "x" * 45 + " and 1 more"),
    ],
)
def test_the_generators_of_a_run_are_told_as_far_as_they_fit(names, text):
    assert generator_label(names) == text


def test_the_second_of_a_group_is_due_once_the_first_has_ended():
    group = uuid.uuid4()
    first = Run.objects.enqueue(cluster=make_cluster("one"), group=group)
    second = Run.objects.enqueue(cluster=make_cluster("two"), group=group)
    assert Run.objects.claim(str(second.pk), "north") is None
    claimed = Run.objects.claim(str(first.pk), "north")
    assert list(Run.objects.due()) == []
    claimed.finish(Status.FAILED)
    assert list(Run.objects.due()) == [second]


def test_a_run_to_be_cancelled_is_not_claimed():
    run = Run.objects.enqueue()
    run.request_cancel()
    assert (run.status, run.error) == (Status.CANCELLED, "cancelled before it started")
    assert Run.objects.claim(str(run.pk), "north") is None


def test_an_ended_attempt_writes_nothing_more():
    run = Run.objects.enqueue()
    claimed = Run.objects.claim(str(run.pk), "north")
    assert Run.objects.get(pk=run.pk).finish(Status.LOST, error="first")
    with pytest.raises(Fenced):
        claimed.write(progress_percent=50.0)
    assert claimed.finish(Status.SUCCEEDED, error="second") is False
    assert (claimed.status, claimed.error, claimed.progress_percent) == (Status.LOST, "first", None)


def test_a_lease_that_was_renewed_meanwhile_is_not_lost():
    run = Run.objects.enqueue()
    claimed = Run.objects.claim(str(run.pk), "north")
    assert claimed.mark_lost(error="gone") is False
    assert claimed.status == Status.STARTING


def test_an_end_needs_a_final_state():
    with pytest.raises(IllegalTransition, match="running is not a final state"):
        Run.objects.enqueue().finish(Status.RUNNING)


def test_a_group_stays_on_the_generator_of_its_first_run():
    group = uuid.uuid4()
    first, second, other = (Run.objects.enqueue(options=the_options(), group=one) for one in (group, group, None))
    assert Run.objects.claim(str(first.pk), "one").generator == "one"
    first.refresh_from_db()
    first.finish(Status.SUCCEEDED)
    assert Run.objects.claim(str(second.pk), "two") is None
    assert Run.objects.claim(str(other.pk), "two").generator == "two"
    claimed = Run.objects.claim(str(second.pk), "one")
    assert (claimed.generator, claimed.wanted_generators) == ("one", ["one"])
