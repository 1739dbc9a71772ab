"""The REST API of the library of scripts."""

from contextlib import nullcontext

import pytest

from benchmarks.library.scripts import library, privileges
from benchmarks.models import Run, Script
from benchmarks.runs.submission import dispatch, submit
from pools.clusters import connect
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
UNKNOWN = "00000000-0000-4000-8000-000000000000"
REFUSED = "SELECT 1;\nSELECT 1 \\shell echo"


@pytest.fixture
def script():
    return library.create(name="orders", text="SELECT 1;", description="of the shop")


@pytest.fixture
def accepted(monkeypatch):
    """Runs are taken without a queue, and without a look at the server."""
    monkeypatch.setattr(submit, "require_queue", lambda: None)
    monkeypatch.setattr(dispatch, "dispatch", lambda run: True)
    monkeypatch.setattr(connect, "connect", lambda *_, **__: nullcontext())
    monkeypatch.setattr(privileges, "_why_reaching", lambda *_: "")


def sent(client, method, address, body):
    return getattr(client, method)(f"/api/v1/scripts/{address}", body, content_type="application/json")


def test_scripts_are_listed_searched_and_ordered(runner, script):
    library.create(name="alpha", text="SELECT now();")

    def names(query):
        return [one["name"] for one in runner.get(f"/api/v1/scripts/{query}").json()["results"]]

    assert names("") == ["alpha", "orders"]
    assert names("?ordering=-name") == ["orders", "alpha"]
    assert names("?search=now()") == ["alpha"]


def test_the_list_costs_the_same_with_one_and_three_rows(runner, script):
    once = queries_of(runner, "/api/v1/scripts/")
    library.create(name="a", text="SELECT 1;"), library.create(name="b", text="SELECT 1;")
    assert queries_of(runner, "/api/v1/scripts/") == once


def test_a_script_is_kept_changed_read_and_deleted(runner):
    made = sent(runner, "post", "", {"name": "orders", "text": " SELECT 1;\n"})
    assert made.status_code == 201, made.json()
    body = made.json()
    assert {name: body[name] for name in ("name", "text", "description", "version")} == {
        "name": "orders",
        "text": " SELECT 1;\n",
        "description": "",
        "version": 1,
    }
    changed = sent(runner, "patch", f"{body['id']}/", {"text": "SELECT 2;"})
    assert (changed.status_code, changed.json()["version"], changed.json()["text"]) == (200, 2, "SELECT 2;")
    whole = sent(runner, "put", f"{body['id']}/", {"name": "shop", "text": "SELECT 2;"})
    assert (whole.status_code, whole.json()["version"], whole.json()["name"]) == (200, 2, "shop")
    versions = runner.get(f"/api/v1/scripts/{body['id']}/versions/").json()["results"]
    assert [(one["number"], one["text"]) for one in versions] == [(2, "SELECT 2;"), (1, " SELECT 1;\n")]
    assert runner.delete(f"/api/v1/scripts/{body['id']}/").status_code == 204
    assert not Script.objects.exists()


@pytest.mark.parametrize("method", ["post", "patch"])
def test_a_refused_script_names_its_line(runner, script, method):
    answer = sent(runner, method, "" if method == "post" else f"{script.pk}/", {"name": "new", "text": REFUSED})
    assert answer.status_code == 400
    assert answer.json()["text"][0].startswith("line 2 ('SELECT 1 \\shell echo'): \\shell starts a program")
    assert library.newest(script).number == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "SELECT 1;"}, "name"),
        ({"name": "orders", "text": "SELECT 1;"}, "name"),
        ({"name": "x" * 101, "text": "SELECT 1;"}, "name"),
        ({"name": "new"}, "text"),
        ({"name": "new", "text": "SELECT 1;\rSELECT 2;"}, "text"),
        ({"name": "new", "text": "a\x00b"}, "text"),
        ({"name": "new", "text": "SELECT 1;", "description": "x" * 501}, "description"),
    ],
)
def test_a_bad_body_is_named_by_field(runner, script, body, field):
    answer = sent(runner, "post", "", body)
    assert (answer.status_code, list(answer.json())) == (400, [field])


def test_a_dry_run_is_queued(runner, script, cluster, accepted):
    target = {"cluster": str(cluster.pk), "database": "app"}
    body = {"target": target, "variables": {"n": 5}, "protocol": "prepared", "confirm": "app"}
    answer = sent(runner, "post", f"{script.pk}/dry-run/", body)
    assert answer.status_code == 201, answer.json()
    run = Run.objects.get()
    assert (answer.json()["id"], run.options["transactions"], run.options["variables"]) == (str(run.pk), 1, {"n": 5})
    assert run.options["protocol"] == "prepared"
    unknown = sent(runner, "post", f"{script.pk}/dry-run/", {"target": target, "protocol": "copy"})
    assert list(unknown.json()) == ["protocol"]
    wrong = sent(runner, "post", f"{script.pk}/dry-run/", {"target": target, "variables": {"scale": 5}})
    assert wrong.json() == {"options": {"variables": ["pgbench sets scale itself: choose another name"]}}
    assert sent(runner, "post", f"{script.pk}/dry-run/", {"target": target, "version": 9}).status_code == 404
    assert sent(runner, "post", f"{script.pk}/dry-run/", {}).status_code == 400


def test_who_may(script):
    body = {"name": "new", "text": "SELECT 1;"}
    assert sent(anonymous(), "post", "", body).status_code == 401
    assert sent(bearer("read"), "post", "", body).status_code == 403
    assert bearer("read").get(f"/api/v1/scripts/{script.pk}/").status_code == 200
    assert bearer("read").delete(f"/api/v1/scripts/{script.pk}/").status_code == 403


def test_unknown_scripts_and_wrong_methods(runner, script):
    assert runner.get(f"/api/v1/scripts/{UNKNOWN}/").status_code == 404
    assert runner.get(f"/api/v1/scripts/{UNKNOWN}/versions/").status_code == 404
    assert sent(runner, "post", f"{UNKNOWN}/dry-run/", {}).status_code == 404
    assert sent(runner, "put", "", {}).status_code == 405
    assert runner.get(f"/api/v1/scripts/{script.pk}/dry-run/").status_code == 405
