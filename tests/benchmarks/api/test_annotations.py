"""Names, notes, tags and baselines over the REST API."""

import uuid

import pytest

from benchmarks.models import Run
from tests.benchmarks.api.conftest import make_run
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/runs/"


def url_of(run: Run, *rest: str) -> str:
    return "/".join([f"{URL}{run.pk}", *rest, ""])


def test_what_is_said_of_a_run_reads_back(runner, run):
    reported = {"name": "evening", "note": "after the upgrade\n", "tags": ["pg16", "nightly"]}
    answer = runner.patch(url_of(run), reported, format="json")
    assert answer.status_code == 200
    read = runner.get(url_of(run)).json()
    assert (read["name"], read["note"], sorted(read["tags"])) == ("evening", "after the upgrade\n", ["nightly", "pg16"])
    runner.patch(url_of(run), {"tags": []}, format="json")
    assert (runner.get(url_of(run)).json()["tags"], runner.get(url_of(run)).json()["note"]) == ([], reported["note"])


def test_figures_can_not_be_said(runner, run):
    runner.patch(url_of(run), {"status": "failed", "summary": {"tps": 1}}, format="json")
    read = runner.get(url_of(run)).json()
    assert (read["status"], read["summary"]["tps"]) == ("succeeded", None)


@pytest.mark.parametrize(
    ("reported", "errors"),
    [
        ({"tags": "nightly"}, {"tags": ['Expected a list of items but got type "str".']}),
        ({"tags": ["y" * 41]}, {"tags": [f"'{'y' * 41}' is too long: a tag has at most 40 characters"]}),
        ({"name": "x" * 201}, {"name": ["Ensure this field has no more than 200 characters."]}),
    ],
)
def test_bad_input_is_named(runner, run, reported, errors):
    answer = runner.patch(url_of(run), reported, format="json")
    assert (answer.status_code, answer.json()) == (400, errors)


def test_runs_are_found_by_their_tag(runner, run, cluster):
    make_run(cluster)
    runner.patch(url_of(run), {"tags": ["nightly", "pg16"]}, format="json")
    found = runner.get(URL, {"tag": "nightly"}).json()
    assert [one["id"] for one in found["results"]] == [str(run.pk)]


def test_a_baseline_is_pinned_and_unpinned(runner, cluster):
    run, other = make_run(cluster, validity="valid"), make_run(cluster, validity="valid")
    assert runner.post(url_of(run, "baseline")).json()["is_baseline"] is True
    runner.post(url_of(other, "baseline"))
    assert [one["id"] for one in runner.get(URL, {"is_baseline": "true"}).json()["results"]] == [str(other.pk)]
    assert runner.delete(url_of(other, "baseline")).json()["is_baseline"] is False


def test_doubtful_figures_are_no_baseline(runner, run):
    answer = runner.post(url_of(run, "baseline"))
    assert (answer.status_code, "is not valid" in answer.json()["detail"]) == (409, True)


def test_who_may_say_something(run):
    for caller, status in ((anonymous(), 401), (bearer("read"), 403)):
        assert caller.patch(url_of(run), {"note": "x"}, format="json").status_code == status
        assert caller.post(url_of(run, "baseline")).status_code == status
    assert bearer("run").patch(f"{URL}{uuid.uuid4()}/", {"note": "x"}, format="json").status_code == 404


def test_tags_cost_the_same_queries_for_one_and_three(runner, run, cluster):
    runner.patch(url_of(run), {"tags": ["a", "b"]}, format="json")
    one = queries_of(runner, URL)
    for _ in range(2):
        runner.patch(url_of(make_run(cluster)), {"tags": ["a", "c"]}, format="json")
    assert queries_of(runner, URL) == one
