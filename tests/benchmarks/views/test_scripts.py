"""The pages of the library of scripts."""

from contextlib import nullcontext

import pytest

from benchmarks.library.scripts import library, privileges
from benchmarks.models import Run, RunOutput, Script, Status
from benchmarks.runs.submission import dispatch, submit
from pools.clusters import connect
from tests.benchmarks.records import a_finished_run
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

REFUSED = "SELECT 1;\nSELECT 1 \\shell echo"


def a_script(name="orders", text="SELECT 1;\n"):
    return library.create(name=name, text=text, description=f"what {name} does")


@pytest.fixture
def accepted(monkeypatch):
    """Runs are taken without a queue, and without a look at the server."""
    monkeypatch.setattr(submit, "require_queue", lambda: None)
    monkeypatch.setattr(dispatch, "dispatch", lambda run: True)
    monkeypatch.setattr(connect, "connect", lambda *_, **__: nullcontext())
    monkeypatch.setattr(privileges, "_why_reaching", lambda *_: "")


def test_the_list_is_searched_by_name_description_and_text(staff):
    a_script("alpha", "SELECT now();")
    a_script("beta", "SELECT count(*) FROM orders;")
    assert [script.name for script in staff.get("/scripts/").context["page"]] == ["alpha", "beta"]
    assert [script.name for script in staff.get("/scripts/?q=FROM+orders").context["page"]] == ["beta"]
    assert "No script matches" in page_of(staff.get("/scripts/?q=gamma"))


def test_the_list_costs_the_same_with_one_and_three_rows(staff):
    a_script("a")
    once = queries_of(staff, "/scripts/")
    a_script("b"), a_script("c")
    assert queries_of(staff, "/scripts/") == once


def test_a_script_costs_the_same_with_one_and_three_versions(staff):
    script = a_script()
    library.change(script, text="SELECT 2;", author=None)
    once = queries_of(staff, f"/scripts/{script.pk}/")
    library.change(script, text="SELECT 3;", author=None)
    library.change(script, text="SELECT 4;", author=None)
    assert queries_of(staff, f"/scripts/{script.pk}/") == once


def test_a_script_is_written_and_changed(staff):
    answer = staff.post("/scripts/new/", {"name": "orders", "text": "SELECT 1;\r\nSELECT 2;\r\n", "description": ""})
    script = Script.objects.get()
    assert answer.headers["Location"] == f"/scripts/{script.pk}/"
    staff.post(f"/scripts/{script.pk}/edit/", {"name": "orders", "text": "SELECT 3;", "description": "d"})
    assert list(script.versions.values_list("number", "text")) == [(2, "SELECT 3;"), (1, "SELECT 1;\nSELECT 2;\n")]
    assert script.versions.first().author.is_staff


@pytest.mark.parametrize("address", ["/scripts/new/", "edit/"])
def test_a_refused_script_names_its_line_beside_the_editor_and_stays(staff, address):
    kept = a_script("kept")
    address = f"/scripts/{kept.pk}/edit/" if address == "edit/" else address
    answer = staff.post(address, {"name": "new", "text": REFUSED, "description": "d"})
    form = answer.context["form"]
    assert form.errors["text"][0].startswith("line 2 ('SELECT 1 \\shell echo'): \\shell starts a program")
    assert (form["text"].value(), form["name"].value()) == (REFUSED, "new")
    assert Script.objects.get() == kept
    assert library.newest(kept).number == 1


def test_versions_are_read_and_compared(staff):
    script = a_script(text="SELECT 1;\nSELECT 2;\n")
    library.change(script, text="SELECT 1;\nSELECT 3;\n", author=None)
    library.change(script, text="SELECT 1;\n", author=None)
    newest = staff.get(f"/scripts/{script.pk}/").context
    assert (newest["version"].number, newest["against"].number) == (3, 2)
    older = staff.get(f"/scripts/{script.pk}/?version=2&against=3").context
    assert (older["lines"], older["against"].number) == (["SELECT 1;", "SELECT 3;"], 3)
    changed = staff.get(f"/scripts/{script.pk}/?version=2").context["diff"][0]
    assert [(line.sign, line.text) for line in changed.hunks[0].lines] == [
        (" ", "SELECT 1;"),
        ("-", "SELECT 2;"),
        ("+", "SELECT 3;"),
    ]
    assert staff.get(f"/scripts/{script.pk}/?version=9").status_code == 404
    assert staff.get(f"/scripts/{script.pk}/?version=x").status_code == 404


def test_a_script_is_deleted_once_its_name_is_typed(staff):
    script = a_script()
    page = page_of(staff.post(f"/scripts/{script.pk}/delete/", {"name": "other"}))
    assert "nothing was removed" in page
    assert staff.post(f"/scripts/{script.pk}/delete/", {"name": "orders"}).headers["Location"] == "/scripts/"
    assert not Script.objects.exists()


def test_a_dry_run_is_one_transaction_by_one_client(staff, accepted):
    script, cluster = a_script(), a_cluster(protected=False)
    typed = {"cluster": str(cluster.pk), "database": "shop", "variables": "n = 5"}
    answer = staff.post(f"/scripts/{script.pk}/1/dry-run/", typed)
    run = Run.objects.get()
    assert answer.headers["Location"] == f"/scripts/{script.pk}/?version=1&dry={run.pk}#dry-run"
    chosen = {name: run.options[name] for name in ("clients", "threads", "transactions", "duration", "variables")}
    assert chosen == {"clients": 1, "threads": 1, "transactions": 1, "duration": None, "variables": {"n": 5}}
    assert run.options["scripts"] == [{"text": "SELECT 1;\n", "weight": 1, "name": "orders", "version": 1}]
    assert run.name == "Dry run of orders version 1"


def test_text_of_several_words_is_tried_by_another_protocol(staff, accepted):
    script, cluster = a_script(), a_cluster(protected=False)
    typed = {"cluster": str(cluster.pk), "database": "shop", "variables": "city = 'New York'"}
    refused = page_of(staff.post(f"/scripts/{script.pk}/1/dry-run/", typed | {"protocol": "simple"}))
    assert "use the extended or prepared protocol" in refused
    assert staff.post(f"/scripts/{script.pk}/1/dry-run/", typed | {"protocol": "extended"}).status_code == 302
    assert Run.objects.get().options["protocol"] == "extended"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({}, "choose a cluster, or a pool"),
        ({"variables": "n"}, "line 1 is &#x27;n&#x27;: write a name, =, and a number or text in quotes"),
        ({"variables": "scale = 1", "cluster": "one", "database": "shop"}, "pgbench sets scale itself"),
        ({"cluster": "protected", "database": "shop"}, "is protected and a script of your own may write to it"),
    ],
)
def test_a_dry_run_that_can_not_be_says_why_and_keeps_what_was_typed(staff, accepted, typed, message):
    script = a_script()
    if "cluster" in typed:
        typed = typed | {"cluster": str(a_cluster(protected=typed["cluster"] == "protected").pk)}
    answer = staff.post(f"/scripts/{script.pk}/1/dry-run/", typed)
    assert message in page_of(answer)
    assert answer.context["form"]["variables"].value() == typed.get("variables")
    assert not Run.objects.exists()


def test_a_dry_run_shows_what_it_printed_and_asks_again_until_it_ended(staff):
    script = a_script()
    run = a_finished_run(0)
    page = page_of(staff.get(f"/scripts/{script.pk}/?dry={run.pk}"))
    assert "vacuum is off" in page
    Run.objects.filter(pk=run.pk).update(status=Status.RUNNING)
    RunOutput.objects.all().delete()
    waiting = page_of(staff.get(f"/scripts/tried/{run.pk}/"))
    assert f'hx-get="/scripts/tried/{run.pk}/"' in waiting
    assert "Waiting for a worker" in waiting


def test_readers_look_and_change_nothing(reader):
    script = a_script()
    page = page_of(reader.get(f"/scripts/{script.pk}/"))
    assert "Dry run" not in page
    assert "/edit/" not in page
    for address in ("new/", f"{script.pk}/edit/", f"{script.pk}/delete/", f"{script.pk}/1/dry-run/"):
        assert reader.post(f"/scripts/{address}", {"name": "orders"}).status_code == 403
    assert Script.objects.exists()


def test_wrong_methods_and_unknown_scripts(staff):
    script = a_script()
    assert staff.post("/scripts/").status_code == 405
    assert staff.get(f"/scripts/{script.pk}/1/dry-run/").status_code == 405
    assert staff.post(f"/scripts/{script.pk}/9/dry-run/").status_code == 404
    unknown = "00000000-0000-4000-8000-000000000000"
    for address in ("", "edit/", "delete/"):
        assert staff.get(f"/scripts/{unknown}/{address}").status_code == 404
    assert staff.get(f"/scripts/tried/{unknown}/").status_code == 404


def test_the_form_of_a_run_begins_with_the_script_that_was_chosen(staff):
    script = a_script()
    form = staff.get(f"/runs/new/?script={script.pk}").context["form"]
    assert form["builtin"].value() == f"version:{library.newest(script).pk}"
    assert staff.get("/runs/new/?script=nonsense").status_code == 200


def test_the_page_of_a_run_tells_what_each_of_several_scripts_did(staff):
    one = {"weight": 3, "transactions": 1500, "percent": 75.0, "tps": 750.5, "latency_avg_ms": 1.25, "failed": 0}
    scripts = [{"name": "<builtin: select only>", **one}, {"name": "script-1-orders-v2.sql", **one, "weight": 1}]
    run = a_finished_run(summary={"tps": 1000.0, "transactions": 2000, "scripts": scripts})
    page = page_of(staff.get(f"/runs/{run.pk}/"))
    assert "&lt;builtin: select only&gt;" in page
    assert "script-1-orders-v2.sql" in page
    assert "1.250" in page
