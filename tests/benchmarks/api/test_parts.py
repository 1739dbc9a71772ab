"""Runs over several generators and runs that wait, in the REST API; with workers: tests/live/benchmarks/spread."""

import re
import uuid

import pytest

from benchmarks.models import Run, Status
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/runs/"


def a_whole(cluster, *names: str, status: str = Status.QUEUED) -> Run:
    whole = make_run(cluster, status=status, wanted_generators=list(names))
    for name in names:
        make_run(cluster, status=status, parent=whole, wanted_generators=[name], generator=name)
    return whole


def test_a_run_names_its_generators_and_parts_and_a_part_its_whole(runner, cluster):
    whole = a_whole(cluster, "east", "west")
    read = runner.get(f"{URL}{whole.pk}/").json()
    assert (read["generators"], read["alongside"], read["parent"]) == (["east", "west"], False, None)
    assert read["parts"] == [str(part.pk) for part in whole.parts.order_by("number")]
    part = runner.get(f"{URL}{read['parts'][0]}/").json()
    assert (part["generator"], part["parent"], part["parts"]) == ("east", str(whole.pk), [])


def test_parts_are_listed_only_where_they_are_asked_for(runner, cluster):
    whole = a_whole(cluster, "east", "west")
    assert [row["id"] for row in runner.get(URL).json()["results"]] == [str(whole.pk)]
    parts = runner.get(URL, {"parent": str(whole.pk)}).json()["results"]
    assert {row["generator"] for row in parts} == {"east", "west"}
    assert runner.get(URL, {"parent": str(uuid.uuid4())}).json()["count"] == 0
    assert runner.get(URL, {"parent": "no-id"}).status_code == 400


def test_the_list_takes_the_same_queries_for_one_and_three(runner, cluster):
    a_whole(cluster, "east", "west")
    one = queries_of(runner, URL)
    a_whole(cluster, "east", "west")
    a_whole(cluster, "north", "south")
    assert queries_of(runner, URL) == one


def test_a_queued_run_tells_what_it_waits_for(runner, cluster, seen):
    seen("east", ago_s=40)
    active = make_run(cluster, status=Status.RUNNING, options={"duration": 30})
    queued = make_run(cluster, status=Status.QUEUED, wanted_generators=["east"], generator="east")
    described = runner.get(f"{URL}{queued.pk}/waiting/").json()
    assert (described["run"], described["ahead"], described["left_s"]) == (str(active.pk), 0, 30.0)
    holder, silent = described["sentences"]
    assert holder == "waits for run 1 on cluster shop, about 30 s left"
    assert re.fullmatch(r"its generator east was last seen 4\d s ago", silent)


def test_a_run_that_is_not_queued_waits_for_nothing(runner, run):
    assert runner.get(f"{URL}{run.pk}/waiting/").json() == {"run": None, "left_s": None, "ahead": 0, "sentences": []}


def test_waiting_is_for_reading_by_those_who_may(run):
    url = f"{URL}{run.pk}/waiting/"
    assert anonymous().get(url).status_code == 401
    assert bearer().post(url, {}).status_code == 405
    assert bearer("read").get(f"{URL}{uuid.uuid4()}/waiting/").status_code == 404


def test_a_cancel_of_a_part_ends_the_whole(runner, cluster):
    whole = a_whole(cluster, "east", "west")
    part = whole.parts.first()
    assert runner.post(f"{URL}{part.pk}/cancel/").json()["status"] == "cancelled"
    assert set(Run.objects.values_list("status", flat=True)) == {Status.CANCELLED}
