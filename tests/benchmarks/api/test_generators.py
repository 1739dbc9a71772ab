"""The REST API of generators, without Redis; with it: tests/live/benchmarks/runs/distributed/test_naming.py."""

import pytest

from benchmarks.models import Generator, Status
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/generators/"


def test_without_redis_nobody_knows_who_lives(settings):
    settings.REDIS_URL = "redis://:hidden@127.0.0.1:1/0"
    answer = bearer("read").get(URL)
    assert answer.status_code == 503
    assert "redis" in answer.json()["detail"]
    assert "hidden" not in answer.content.decode()


def test_a_generator_tells_what_it_has_and_what_it_runs(seen, cluster):
    run = make_run(cluster, status=Status.RUNNING, generator="near")
    near = seen("near", engines={"pgbench": "15.18"}, files={"jmeter": {"a.jmx": ""}})
    near.round_trips = {str(cluster.pk): {"min_ms": 0.1, "avg_ms": 0.2, "max_ms": 0.3}}
    near.save(update_fields=["round_trips"])
    seen("gone", ago_s=16)
    gone, near = bearer("read").get(URL).json()["results"]
    assert (gone["name"], gone["alive"], gone["run"], gone["host"], gone["engines"]) == ("gone", False, None, "", None)
    assert {name: near[name] for name in near if not name.endswith("_at")} == {
        "name": "near",
        "kind": "worker",
        "ssh_host": None,
        "fault": "",
        "script_fault": "",
        "alive": True,
        "host": "near.example",
        "cores": 8,
        "engines": {"pgbench": "15.18"},
        "files": {"jmeter": {"a.jmx": ""}},
        "round_trips": {str(cluster.pk): {"min_ms": 0.1, "avg_ms": 0.2, "max_ms": 0.3}},
        "queue": "generator.near",
        "run": str(run.pk),
        "runs": [str(run.pk)],
        "queued": 0,
    }
    assert bearer("read").get(f"{URL}near/").json() == near


def test_the_list_takes_the_same_queries_for_one_and_three(seen):
    client = bearer("read")
    seen("one", engines={})
    one = queries_of(client, URL)
    seen("two", engines={})
    seen("three", engines={})
    assert queries_of(client, URL) == one


def test_a_generator_that_is_gone_is_forgotten(seen):
    seen("gone", ago_s=60, engines={})
    assert bearer("admin").delete(f"{URL}gone/").status_code == 204
    assert Generator.objects.count() == 0


def test_one_that_lives_is_not(seen):
    seen("near", engines={})
    answer = bearer("admin").delete(f"{URL}near/")
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "generator 'near' is alive: stop its worker first, or it comes back at once",
    )
    assert Generator.objects.count() == 1


def test_a_name_that_nobody_has_is_not_found(seen):
    assert bearer("read").get(f"{URL}nobody/").status_code == 404
    assert bearer("admin").delete(f"{URL}nobody/").status_code == 404


def test_generators_are_read_by_those_who_are_logged_in_and_forgotten_by_admins(seen):
    assert anonymous().get(URL).status_code == 401
    assert bearer().post(URL, {}).json()["ssh_host"] == ["This field is required."]
    assert bearer("read").delete(f"{URL}near/").status_code == 403
