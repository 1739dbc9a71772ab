"""Stages in the form of a run, on its page and in comparisons."""

import pytest

from benchmarks.models import Run, Status, Validity
from benchmarks.runs.submission import submit as submitting
from tests.benchmarks.records import a_finished_run, the_options
from tests.benchmarks.views.test_runs import CREATE, PREVIEW, typed
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool, a_pooler

ASKED = [
    {"duration_s": 2, "clients": 1},
    {"duration_s": 3, "clients": 4, "rate": 100.0},
    {"duration_s": 2, "clients": 2},
]
FIGURES = {"tps": 512.5, "latency_avg_ms": 2.5, "transactions": 1025, "failed": 0, "latency_p95_ms": 4.25}


def a_staged_run(**fields) -> Run:
    """A run whose second stage failed."""
    begun = [
        {"clients": 1, "duration_s": 2, "began_s": 0.0, "status": "succeeded", **FIGURES},
        {
            "clients": 4,
            "duration_s": 3,
            "rate": 100.0,
            "began_s": 2.25,
            "status": "failed",
            "error": "too many clients",
        },
    ]
    values = {"options": the_options(stages=ASKED), "summary": {"stages": begun}, "status": Status.FAILED}
    values |= {"error": "stage 2 of 3: too many clients", "validity": Validity.INCOMPLETE}
    return a_finished_run(**values | fields)


def test_the_form_keeps_clients_and_duration_of_the_stages_alone(staff, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(submitting, "submit", lambda request: asked.append(request) or [a_finished_run()])
    pool = a_pool(cluster=a_cluster(), pooler=a_pooler())
    answer = staff.post(CREATE, typed(pool=pool.pk, threads="1", stages="2s 1\r\n3s 4 100/s\r\n2s 2"))
    assert answer.status_code == 302, answer.context["form"].errors
    options = asked[0].options
    assert (options["stages"], options["clients"], options["duration"]) == (ASKED, 4, 7)


def test_a_wrong_line_is_named_beside_its_field_and_keeps_what_was_typed(staff) -> None:
    pool = a_pool(cluster=a_cluster(), pooler=a_pooler())
    answer = staff.post(CREATE, typed(pool=pool.pk, stages="2s 1\r\n3s four"))
    assert list(answer.context["form"].errors) == ["stages"]
    assert "line 2 is &#x27;3s four&#x27;: write a duration" in answer.text
    assert "2s 1\n3s four</textarea>" in answer.text.replace("\r", "")


def test_the_preview_has_a_command_for_each_stage(staff) -> None:
    cluster = a_cluster()
    asked = typed(route="direct", cluster=cluster.pk, database="shop", threads="1", stages="2s 1\n3s 4 100/s")
    answer = staff.post(PREVIEW, asked).text
    assert "-c 1 -j 1 -T 2" in answer
    assert "-c 4 -j 1 -T 3 -P 1 -M simple -R 100" in answer


def test_a_shape_gives_the_stages_while_none_is_typed(staff) -> None:
    cluster = a_cluster()
    asked = typed(route="direct", cluster=cluster.pk, database="shop", clients="8", duration="10", shape="spike")
    commands = staff.post(PREVIEW, asked).text
    assert [words in commands for words in ("-c 2 -j 2 -T 4", "-c 8 -j 2 -T 2")] == [True, True]
    field = staff.post(f"{PREVIEW}?part=stages", asked | {"stages": "nonsense"}).text
    assert ">\n4s 2\n2s 8\n4s 2</textarea>" in field
    assert "errorlist" not in field
    assert ">\n</textarea>" in staff.post(f"{PREVIEW}?part=stages", asked | {"clients": "many"}).text
    typed_too = staff.post(PREVIEW, asked | {"stages": "7s 3"}).text
    assert "-c 3 -j 2 -T 7" in typed_too
    assert "-c 8" not in typed_too


def test_an_engine_without_stages_offers_none(staff) -> None:
    answer = staff.get(CREATE, {"engine": "sysbench"})
    assert "shape" not in answer.context["form"].fields
    assert "stages-field" not in answer.text
    asked = {"engine": "sysbench", "shape": "ramp", "stages": "1s 1"}
    assert staff.post(f"{PREVIEW}?part=stages", asked).status_code == 200


@pytest.mark.parametrize("more", [{"route": "both"}, {"sweep_clients": "1, 2"}])
def test_pairs_and_sweeps_have_no_stages(staff, more) -> None:
    pool = a_pool(cluster=a_cluster(), pooler=a_pooler())
    answer = staff.post(CREATE, typed(pool=pool.pk, threads="1", stages="2s 1", **more))
    assert answer.context["form"].errors == {
        "stages": ["only a single run has stages: leave them out, or start it without a pair, a sweep or an experiment"]
    }


def test_the_page_has_the_figures_of_each_stage_and_says_which_did_not_begin(staff) -> None:
    answer = page_of(staff.get(f"/runs/{a_staged_run().pk}/"))
    assert 'data-stage-began="2.25"' in answer
    assert 'data-stage-label="stage 2: 4 clients, 100/s"' in answer
    assert "not started" in answer
    assert "stage 2 of 3: too many clients" in answer
    assert "No figures of the whole" in answer


def test_the_list_says_that_a_run_has_stages(staff) -> None:
    a_staged_run()
    answer = page_of(staff.get("/runs/"))
    assert "4 clients · 3 stages" in answer


def test_a_stage_that_goes_on_has_no_state_of_its_own(staff) -> None:
    begun = [{"clients": 1, "duration_s": 2, "began_s": 0.0}]
    run = a_staged_run(status=Status.RUNNING, summary={"stages": begun}, validity="", error="", finished_at=None)
    rows = staff.get(f"/runs/{run.pk}/").context["stages"]
    assert [(row.state, row.label) for row in rows] == [
        ("running", "running"),
        ("queued", "waiting"),
        ("queued", "waiting"),
    ]
    Run.objects.filter(pk=run.pk).update(status=Status.LOST)
    assert [row.state for row in staff.get(f"/runs/{run.pk}/").context["stages"]] == ["lost", "cancelled", "cancelled"]


def test_a_run_is_cloned_with_its_stages_as_lines(staff) -> None:
    form = staff.get(CREATE, {"clone": str(a_staged_run().pk)}).context["form"]
    assert form["stages"].value() == "2s 1\n3s 4 100/s\n2s 2"


def test_runs_of_other_stages_are_not_judged_by_each_other(staff) -> None:
    whole = {"tps": 500.0, "latency_avg_ms": 2.0, "transactions": 3500, "failed": 0}
    fields = {"status": Status.SUCCEEDED, "validity": Validity.VALID, "error": "", "summary": whole}
    staged, other = a_staged_run(**fields), a_staged_run(**fields)
    constant = a_finished_run()
    found = staff.get("/runs/compare/", {"run": [str(constant.pk), str(staged.pk), str(other.pk)]}).context["compared"]
    assert [arm.n_valid for arm in found.arms] == [1, 2]
    assert all(row.figures[1].ratio is None for row in found.rows)
    assert found.conclusions == (
        "not enough data to judge direct, clients –, duration –, stages 2s 1, 3s 4 100/s, 2s 2 by direct, clients 10, "
        "duration 30, stages –; missing: runs with the same stages",
    )


def test_the_page_as_a_file_has_the_stages(staff) -> None:
    exported = staff.get(f"/api/v1/runs/{a_staged_run().pk}/export/", {"as": "html"}).getvalue().decode()
    assert "<td>2: 3s 4 100/s</td>" in exported
    assert '<td class="number">512.5</td>' in exported


def test_the_api_has_the_stages_of_a_run(staff) -> None:
    run = a_staged_run()
    answer = staff.get(f"/api/v1/runs/{run.pk}/").json()
    assert answer["options"]["stages"] == ASKED
    assert [one["status"] for one in answer["summary"]["stages"]] == ["succeeded", "failed"]
    assert answer["summary"]["tps"] is None
