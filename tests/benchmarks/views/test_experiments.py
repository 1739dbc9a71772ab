"""The pages of experiments and playbooks."""

import json
import re

import pytest

from benchmarks.experiments import library, more_blocks, start
from benchmarks.experiments.report import files, presentation
from benchmarks.models import Experiment, ExperimentState, Generator, Playbook
from tests.benchmarks.api.test_playbooks import ATTACK
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment
from tests.benchmarks.experiments.test_playbook import SMALL
from tests.callers import queries_of
from tests.pages import page_of
from tests.pools.records import a_cluster

FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}

FORMULA = """\
name = "formula"
title = "A label like a formula"
baseline = { endpoint = "a" }
metrics = ["tps"]
axes = { endpoint = [{ key = "a", label = "=1+1" }, { key = "b" }] }
quick = {}
published_scale = {}
"""


def test_the_list_offers_the_playbooks_and_shows_what_was_carried_out(staff) -> None:
    experiment = a_measured_experiment(FIGURES)
    page = page_of(staff.get("/experiments/"))
    assert "A burst of clients against max_connections" in page
    assert f'href="/experiments/{experiment.pk}/"' in page


def test_the_list_asks_as_often_for_three_as_for_one(staff) -> None:
    an_experiment()
    one = queries_of(staff, "/experiments/")
    an_experiment()
    an_experiment()
    assert queries_of(staff, "/experiments/") == one


def test_the_page_shows_the_verdict_first_and_the_published_figures_beside_the_measured(staff) -> None:
    page = page_of(staff.get(f"/experiments/{a_measured_experiment(FIGURES).pk}/"))
    assert "Reproduced: 10 clients, SCRAM, PgBouncer: ×2.02 its baseline" in page
    assert page.index("Result") < page.index("Published beside measured")
    assert "◆ 16.96" in page
    assert "hx-get" not in page[page.index("experiment-live") : page.index("Result")]


def test_the_page_says_that_the_warm_up_was_thrown_away(staff) -> None:
    experiment = a_measured_experiment(FIGURES)
    text = "1 s of the same load before each run, thrown away"
    assert text in page_of(staff.get(f"/experiments/{experiment.pk}/"))
    assert text in files.as_html(experiment).decode()
    experiment.write(quick=False)
    assert presentation.conditions(experiment)["Warm-up"].startswith("30 s of the same load")
    assert "Warm-up" not in presentation.conditions(an_experiment("tuning"))


def test_an_experiment_that_goes_on_asks_for_itself_and_can_be_cancelled(staff) -> None:
    experiment = an_experiment(state=ExperimentState.RUNNING)
    page = page_of(staff.get(f"/experiments/{experiment.pk}/"))
    assert "0 of 15 runs" in page
    assert f'hx-get="/experiments/{experiment.pk}/"' in page
    part = page_of(
        staff.get(f"/experiments/{experiment.pk}/", headers={"HX-Request": "true", "HX-Target": "experiment-live"})
    )
    assert part.startswith("<div")
    staff.post(f"/experiments/{experiment.pk}/cancel/")
    experiment.refresh_from_db()
    assert experiment.cancel_requested_at is not None


@pytest.mark.parametrize("name", ["burst", "idle-tax", "tuning", "app-pool", "reconnect"])
def test_the_page_of_a_playbook_names_its_arms_and_what_it_would_change(staff, name: str) -> None:
    page = page_of(staff.get(f"/playbooks/{name}/"))
    assert "A role and a database are created for the experiment" in page
    assert "In the quick form" in page


def test_a_protected_cluster_is_refused_with_the_list_of_changes(staff) -> None:
    cluster = a_cluster(protected=True)
    answer = staff.post("/playbooks/burst/", {"cluster": cluster.pk, "scale": "quick"})
    assert answer.status_code == 400
    alert = page_of(answer).partition("alert-danger")[2].partition("</div>")[0]
    assert f"cluster {cluster} is protected: confirm the changes of the experiment" in alert
    assert "A role and a database are created for the experiment" in alert
    assert Experiment.objects.count() == 0


def test_a_playbook_is_added_and_a_bad_one_keeps_what_was_typed(staff) -> None:
    refused = staff.post("/playbooks/new/", {"toml": SMALL.replace('title = "Small"', "title = 3")})
    assert refused.status_code == 400
    assert "line 2, title" in page_of(refused)
    assert "select-only" in page_of(refused)
    assert staff.post("/playbooks/new/", {"toml": SMALL})["Location"] == "/playbooks/small/"
    staff.post("/playbooks/small/delete/")
    assert Playbook.objects.count() == 0


def test_reports_are_files(staff) -> None:
    experiment = a_measured_experiment(FIGURES)
    kinds = {
        kind: staff.get(f"/experiments/{experiment.pk}/report/{kind}/").content
        for kind in ("html", "csv", "json", "pdf")
    }
    assert not re.search(rb'(src|href)="', kinds["html"])  # it loads nothing
    assert kinds["csv"].splitlines()[0].startswith(b"key,label,outcome")
    assert json.loads(kinds["json"])["arms"][2]["n_valid"] == 3
    assert kinds["pdf"].startswith(b"%PDF-")


def test_a_label_that_begins_like_a_formula_is_a_text_in_csv(staff) -> None:
    library.add(FORMULA, is_admin=True)
    assert "a,'=1+1," in files.as_csv(an_experiment("formula")).decode()


def test_readers_look_and_start_nothing(reader) -> None:
    experiment = an_experiment()
    assert reader.get(f"/experiments/{experiment.pk}/").status_code == 200
    assert reader.post(f"/experiments/{experiment.pk}/cancel/").status_code == 403
    assert reader.post("/playbooks/burst/", {}).status_code == 403


def test_the_form_asks_for_a_generator_where_there_is_a_choice_and_for_a_name_where_a_cluster_is_protected(
    staff,
) -> None:
    a_cluster(protected=False)
    Generator.objects.create(name="local", host="db7", engines={"pgbench": "17"})
    fields = staff.get("/playbooks/reconnect/").context["form"].fields
    assert "generators" not in fields
    assert "confirm" not in fields
    Generator.objects.create(name="east", host="db8", engines={"pgbench": "17"})
    a_cluster(protected=True)
    form = staff.get("/playbooks/reconnect/").context["form"]
    assert form.fields["generators"].choices == [("", "any free one"), ("east", "east (db8)"), ("local", "local (db7)")]
    assert "confirm" in form.fields


def test_the_arms_of_the_published_size_are_folded(staff) -> None:
    page = page_of(staff.get("/playbooks/reconnect/"))
    assert "30 further arms in the published size" in page
    assert page.index("10 clients, SCRAM, Pgpool-II, other host") < page.index("30 further arms")


def test_a_playbook_like_another_begins_under_a_name_that_is_free(staff) -> None:
    assert 'name = "my-burst"' in staff.get("/playbooks/new/?like=burst").context["form"]["toml"].value()


def test_until_the_end_only_what_can_be_judged_is_claimed(staff) -> None:
    experiment = a_measured_experiment({key: values[:2] for key, values in FIGURES.items()}, state="running")
    part = {"HX-Request": "true", "HX-Target": "experiment-live"}
    page = page_of(staff.get(f"/experiments/{experiment.pk}/", headers=part))
    assert "too few runs for a verdict" in page
    assert "Inconclusive" not in page
    experiment.write(state="cancelled")
    page = page_of(staff.get(f"/experiments/{experiment.pk}/", headers=part))
    assert "Inconclusive" in page
    assert "Run again" in page  # It replaces the button that cancels.


@pytest.fixture
def queue_is_there(monkeypatch) -> None:
    for module in (more_blocks, start):
        monkeypatch.setattr(module, "require_queue", lambda: None)


def test_what_is_undecided_has_a_button_for_more_blocks(staff, queue_is_there) -> None:
    decided = a_measured_experiment({"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195]})
    experiment = a_measured_experiment({"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [90, 160, 70]})
    button, page = "Not decided: measure more blocks", page_of(staff.get(f"/experiments/{experiment.pk}/"))
    assert button in page
    assert presentation.show(decided).is_undecided  # Pgpool-II has no runs there
    answer = staff.post(f"/experiments/{experiment.pk}/more/", {"blocks": "2", "confirm": experiment.cluster_name})
    assert answer.url == f"/experiments/{experiment.pk}/"
    experiment.refresh_from_db()
    assert (experiment.state, len(experiment.plan)) == (ExperimentState.QUEUED, 2 + experiment.step)
    wrong = staff.post(f"/experiments/{experiment.pk}/more/", {"blocks": "0"}, follow=True)
    assert "greater than or equal to 1" in page_of(wrong)


def test_what_could_not_be_measured_is_folded_and_left_out_by_a_button(staff, queue_is_there) -> None:
    experiment = a_measured_experiment(FIGURES)
    page = page_of(staff.get(f"/experiments/{experiment.pk}/"))
    assert page.index("did 2.02 times the work") < page.index("1 arm could not be measured")
    assert page.lower().count("no generator is alive") == 1
    assert 'href="/generators/"' in page[page.index("1 arm could not be measured") :]
    answer = staff.post(f"/experiments/{experiment.pk}/without/", {"confirm": experiment.cluster_name})
    again = Experiment.objects.get(pk=answer.url.split("/")[2])
    assert (again.playbook, again.skipped) == (experiment.playbook, {})
    assert not set(experiment.skipped) & set(again.plan[0])


def test_an_admins_settings_are_measured_again_without_an_arm(staff, queue_is_there) -> None:
    Playbook.objects.create(name="small", text=ATTACK)
    experiment = an_experiment("small", state=ExperimentState.SUCCEEDED, skipped={"10-none-replica": "no room"})
    answer = staff.post(f"/experiments/{experiment.pk}/without/", {"confirm": experiment.cluster_name})
    again = Experiment.objects.exclude(pk=experiment.pk).get()
    assert answer.url == f"/experiments/{again.pk}/"
    assert (again.by_admin, sorted(again.plan[0])) == (True, ["1-none-replica", "1-pool-replica"])


@pytest.mark.parametrize("verb", ["more", "without"])
def test_only_staff_measures_more(reader, verb) -> None:
    assert reader.post(f"/experiments/{a_measured_experiment(FIGURES).pk}/{verb}/").status_code == 403
