"""Generators that register themselves, and runs that name them, over the REST API and with three real workers."""

import time
from itertools import pairwise
from typing import Any

import pytest
from rest_framework.test import APIClient

from benchmarks.generators import registry
from benchmarks.models import Run, Status
from benchmarks.runs.submission import dispatch
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster
from tests.callers import bearer
from tests.live.benchmarks.conftest import ended, has_samples, wait_for
from tests.live.benchmarks.runs.distributed.conftest import NAMES, FarWorker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def described(three: dict[str, FarWorker], cluster: Cluster) -> None:
    """All have written down what they have; the tables are emptied between tests."""
    dispatch.ask_generators()
    deadline = time.monotonic() + 60
    while any(one.engines is None or not one.round_trips for one in registry.known()):
        assert time.monotonic() < deadline, "not all generators described themselves"
        time.sleep(0.1)


@pytest.fixture
def api(described: None) -> APIClient:
    return bearer("read", "run")


def asked(cluster: Cluster, dataset: str, **body: Any) -> dict[str, Any]:
    """The body of a short run."""
    options = {"clients": 6, "duration": 2, "rate": 100} | body.pop("options", {})
    return {"target": {"cluster": str(cluster.pk), "database": dataset}, "options": options, **body}


def test_generators_register_with_engines_and_round_trips(
    api: APIClient, cluster: Cluster, postgres: PostgresServer
) -> None:
    found = {one["name"]: one for one in api.get("/api/v1/generators/").json()["results"]}
    assert set(found) == set(NAMES)
    for one in found.values():
        assert one["alive"]
        assert one["host"]
        assert one["cores"] >= 1
        assert "pgbench" in one["engines"]
        trip = one["round_trips"][str(cluster.pk)]
        assert 0 < trip["min_ms"] <= trip["avg_ms"] <= trip["max_ms"] < 5_000


def test_a_run_goes_to_the_generator_it_names(api: APIClient, cluster: Cluster, dataset: str) -> None:
    for name in ("west", "north"):
        made = api.post("/api/v1/runs/", asked(cluster, dataset, generators=[name])).json()
        assert (made["generators"], made["generator"], made["parts"]) == ([name], name, [])
        done = wait_for(Run.objects.get(pk=made["id"]), ended)
        assert (done.status, done.generator, done.attempt) == (Status.SUCCEEDED, name, 1)


def test_wrong_generators_are_refused_with_what_there_is_and_nothing_is_saved(
    api: APIClient, cluster: Cluster, dataset: str
) -> None:
    for body, field in (
        ({"generators": ["south"]}, ["there is no generator 'south': use one that is alive (east, north, west)"]),
        ({"generators": ["any", "east"]}, ["any means all generators: leave it out, or name no other generator"]),
    ):
        answer = api.post("/api/v1/runs/", asked(cluster, dataset, **body))
        assert (answer.status_code, answer.json()) == (400, {"generators": field})
    answer = api.post("/api/v1/runs/", asked(cluster, dataset, generators=list(NAMES), options={"clients": 2}))
    assert answer.json() == {"options": {"clients": ["2 can't be shared by 3 generators: use at least 3"]}}
    assert not Run.objects.filter(purpose="load").exists()


def test_runs_alongside_overlap_and_the_others_wait(api: APIClient, cluster: Cluster, dataset: str) -> None:
    first = api.post("/api/v1/runs/", asked(cluster, dataset, generators=["east"], options={"duration": 60})).json()
    wait_for(Run.objects.get(pk=first["id"]), has_samples(1))
    beside = api.post("/api/v1/runs/", asked(cluster, dataset, alongside=True, generators=["west"])).json()
    after = api.post("/api/v1/runs/", asked(cluster, dataset, generators=["north"])).json()
    waiting = api.get(f"/api/v1/runs/{after['id']}/waiting/").json()
    assert waiting["run"] in (first["id"], beside["id"])
    assert waiting["sentences"][0].startswith("waits for run ")
    assert "on cluster live" in waiting["sentences"][0]
    wait_for(Run.objects.get(pk=beside["id"]), ended)
    assert api.post(f"/api/v1/runs/{first['id']}/cancel/").status_code == 200
    one, two, three = (wait_for(Run.objects.get(pk=run["id"]), ended, 30) for run in (first, beside, after))
    assert [run.status for run in (one, two, three)] == [Status.CANCELLED, Status.SUCCEEDED, Status.SUCCEEDED]
    assert two.started_at < one.finished_at
    assert three.started_at >= max(one.finished_at, two.finished_at)


def test_runs_for_any_generator_follow_each_other_on_one_cluster(
    api: APIClient, cluster: Cluster, dataset: str
) -> None:
    runs = [api.post("/api/v1/runs/", asked(cluster, dataset)).json() for _ in range(3)]
    done = [wait_for(Run.objects.get(pk=run["id"]), ended, 40) for run in runs]
    assert [(run.status, run.generator in NAMES) for run in done] == [(Status.SUCCEEDED, True)] * 3
    by_start = sorted(done, key=lambda run: run.started_at)
    assert all(one.finished_at <= two.started_at for one, two in pairwise(by_start))
