"""Experiments and advice over the API: started, read, cancelled and reported, by whom it may be."""

import uuid

import pytest
from django.utils import timezone

from benchmarks.experiments import dispatch, more_blocks, start
from benchmarks.experiments.advice import sweep
from benchmarks.models import Experiment, ExperimentState, Phase, Playbook, ResourceKind
from tests.benchmarks.api.test_playbooks import ATTACK
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment
from tests.callers import anonymous, bearer, queries_of
from tests.pools.records import a_cluster, a_pool, a_pooler, an_entry
from tests.waiting import meanwhile

URL, ADVICE = "/api/v1/experiments/", "/api/v1/advice/pool-size/"
FIGURES = {"10-scram-none": [100, 104, 97], "10-scram-pgbouncer": [200, 206, 195]}


@pytest.fixture(autouse=True)
def queue(monkeypatch):
    """Redis answers, and no message leaves."""
    for module in (start, sweep, more_blocks):
        monkeypatch.setattr(module, "require_queue", lambda: None)
    monkeypatch.setattr(dispatch, "request_advance", lambda: None)


@pytest.fixture
def dba(db):
    return bearer("read", "run", "apply")


@pytest.fixture
def reader(db):
    return bearer("read")


def open_cluster():
    """A cluster that asks for no confirmation."""
    return a_cluster(protected=False)


def one(experiment, verb=""):
    return f"{URL}{experiment.pk}/{verb}"


def test_an_admins_playbook_changes_no_server_for_others(dba):
    Playbook.objects.create(name="small", text=ATTACK)
    asked = {"playbook": "small", "cluster": str(open_cluster().pk)}
    answer = dba.post(URL, asked, format="json")
    assert answer.status_code == 403
    assert "session_replication_role: more than tuning" in str(answer.json())
    assert not Experiment.objects.exists()
    assert bearer("admin", "apply").post(URL, asked, format="json").status_code == 201
    assert Experiment.objects.get().by_admin


def test_more_blocks_give_nobody_the_rights_of_the_admin_who_started_it(dba):
    Playbook.objects.create(name="small", text=ATTACK)
    ended = an_experiment("small", cluster=open_cluster(), by_admin=True, state=ExperimentState.SUCCEEDED)
    answer = dba.post(one(ended, "measure-more/"), {"blocks": 1}, format="json")
    assert answer.status_code == 403
    assert "session_replication_role: more than tuning" in str(answer.json())
    ended.refresh_from_db()
    assert (ended.state, ended.by_admin) == (ExperimentState.SUCCEEDED, True)


def test_more_blocks_of_tuning_are_no_longer_by_an_admin_where_another_asks(dba):
    by_admin = {"cluster": open_cluster(), "by_admin": True, "step": 18}
    ended = a_measured_experiment(FIGURES, **by_admin)
    assert dba.post(one(ended, "measure-more/"), {"blocks": 1}, format="json").status_code == 202
    ended.refresh_from_db()
    assert not ended.by_admin


def test_a_playbook_is_started_with_its_arms_planned(dba):
    asked = {
        "playbook": "reconnect",
        "cluster": str(open_cluster().pk),
        "repeats": 2,
        "options": {"duration": 3},
        "seed": 7,
    }
    answer = dba.post(URL, asked, format="json")
    assert answer.status_code == 201, answer.json()
    found = answer.json()
    assert (found["state"], found["phase"], found["repeats"], found["seed"]) == ("queued", "setup", 2, 7)
    assert found["progress"] == {"done": 0, "total": 10, "eta_s": None}
    assert {arm["key"] for arm in found["arms"]} >= {"10-scram-none", "10-md5-pgbouncer"}
    assert Experiment.objects.get().overrides == {"duration": 3}


@pytest.mark.parametrize(
    ("field", "given", "reason"),
    [
        ("options", {"clients": "many"}, "clients: 'many' is not a whole number: use 1 to 10,000"),
        ("options", {"client": 5}, "client: 'client' is not an option here: did you mean clients? Use builtin, "),
        ("dataset", {"scale": 0}, "scale: 0 is out of range: use 1 to 99,999"),
        ("dataset", {"clients": 5}, "clients: clients is an option of a run, not of preparing a dataset: leave it out"),
    ],
)
def test_options_that_its_runs_would_refuse_are_refused_before_anything_is_made(dba, field, given, reason):
    asked = {"playbook": "reconnect", "cluster": str(open_cluster().pk), field: given}
    answer = dba.post(URL, asked, format="json")
    assert answer.status_code == 400
    assert answer.json()[field][0].startswith(reason)
    assert not Experiment.objects.exists()


def test_a_measured_one_answers_arms_published_figures_and_a_conclusion(reader):
    found = reader.get(one(a_measured_experiment(FIGURES))).json()
    arms = {arm["key"]: arm for arm in found["arms"]}
    pooled = arms["10-scram-pgbouncer"]
    assert (pooled["verdict"], pooled["baseline"], pooled["published"]["tps"]) == ("faster", "10-scram-none", 26.86)
    assert pooled["derived"]["gain_percent"] == pytest.approx(100, abs=5)
    assert arms["10-md5-none"]["runs"] == []
    assert "Reproduced" in found["conclusion"]


def test_a_list_asks_as_often_for_three_as_for_one_and_leaves_the_arms_out(reader):
    a_measured_experiment(FIGURES)
    first = queries_of(reader, URL)
    for name in ("two", "three"):
        a_measured_experiment(FIGURES, cluster=a_cluster(name=name))
    assert queries_of(reader, URL) == first
    rows = reader.get(URL).json()
    assert rows["count"] == 3
    assert rows["results"][0]["progress"] == {"done": 6, "total": 15, "eta_s": 0.0}
    assert "arms" not in rows["results"][0]


def test_lists_are_filtered_and_ordered(reader):
    a_measured_experiment(FIGURES)
    queued = an_experiment("burst", cluster=a_cluster(name="two"))
    for query in ({"state": "queued"}, {"playbook": "burst"}, {"cluster": str(queued.cluster.pk)}, {"search": "two"}):
        assert [row["number"] for row in reader.get(URL, query).json()["results"]] == [queued.number], query
    assert [row["number"] for row in reader.get(URL, {"ordering": "number"}).json()["results"]] == [1, 2]


def test_cancelling_is_asked_for_once_and_refused_after_the_end(dba):
    running = an_experiment()
    assert dba.post(one(running, "cancel/")).status_code == 200
    running.refresh_from_db()
    assert running.cancel_requested_at is not None
    ended = a_measured_experiment(FIGURES, cluster=a_cluster(name="two"))
    assert dba.post(one(ended, "cancel/")).status_code == 409
    ended.write(state=ExperimentState.CANCELLED)
    assert dba.post(one(ended, "cancel/")).status_code == 200


def test_an_ended_one_is_queued_again_for_more_blocks_and_keeps_what_was_measured(dba):
    experiment = a_measured_experiment(FIGURES, cluster=open_cluster(), step=18, cancel_requested_at=timezone.now())
    before = experiment.plan
    answer = dba.post(one(experiment, "measure-more/"), {"blocks": 2}, format="json")
    assert answer.status_code == 202, answer.json()
    found = answer.json()
    assert (found["state"], found["phase"], found["repeats"], found["wanted_blocks"]) == ("queued", "setup", 5, 5)
    assert found["progress"] == {"done": 6, "total": 25, "eta_s": None}
    experiment.refresh_from_db()
    assert experiment.plan[:3] == before
    assert experiment.plan[3] == before[2][::-1]  # ABBA goes on
    assert (experiment.step, experiment.cancel_requested_at, experiment.finished_at) == (18, None, None)


def test_one_that_goes_on_gets_a_longer_plan(dba):
    running = an_experiment(state=ExperimentState.RUNNING, phase=Phase.MEASURE, step=6, cluster=open_cluster())
    assert dba.post(one(running, "measure-more/"), {"blocks": 2}, format="json").status_code == 202
    running.refresh_from_db()
    assert (running.state, len(running.plan), running.wanted_blocks, running.step) == ("running", 5, 5, 6)


def test_blocks_are_counted_and_a_block_cut_short_is_not_made_up_for(dba):
    experiment = a_measured_experiment(FIGURES, cluster=open_cluster(), step=7)
    assert dba.post(one(experiment, "measure-more/"), {"blocks": 1}, format="json").status_code == 202
    experiment.refresh_from_db()
    assert (experiment.step, len(experiment.plan)) == (12, 3)


@pytest.mark.parametrize("blocks", [0, 51, "many", None])
def test_a_number_of_blocks_out_of_range_is_refused(dba, blocks):
    experiment = a_measured_experiment(FIGURES, cluster=open_cluster())
    answer = dba.post(one(experiment, "measure-more/"), {"blocks": blocks}, format="json")
    assert (answer.status_code, list(answer.json())) == (400, ["blocks"])


def test_more_blocks_are_refused_while_things_are_removed_and_once_the_cluster_is_gone(dba):
    experiment = a_measured_experiment(FIGURES, cluster=open_cluster())
    row = experiment.resources.create(kind=ResourceKind.ROLE, key="scram", name="r", made_at=timezone.now())
    assert dba.post(one(experiment, "measure-more/"), {"blocks": 1}, format="json").status_code == 409
    row.delete()
    experiment.write(cluster=None)
    answer = dba.post(one(experiment, "measure-more/"), {"blocks": 1}, format="json")
    assert (answer.status_code, "was removed" in answer.json()["detail"]) == (409, True)


def test_more_blocks_on_a_protected_cluster_ask_for_its_name(dba):
    experiment = a_measured_experiment(FIGURES, cluster=a_cluster(protected=True))
    assert dba.post(one(experiment, "measure-more/"), {"blocks": 1}, format="json").status_code == 400
    asked = {"blocks": 1, "confirm": experiment.cluster_name}
    assert dba.post(one(experiment, "measure-more/"), asked, format="json").status_code == 202


@pytest.mark.parametrize(
    ("kind", "begins"), [("html", b"\n<!DOCTYPE html>"), ("csv", b""), ("json", b"{"), ("pdf", b"%PDF")]
)
def test_its_report_in_each_format(reader, kind, begins):
    answer = reader.get(one(a_measured_experiment(FIGURES), "report/"), {"as": kind})
    assert answer.status_code == 200
    assert answer.content.startswith(begins)
    assert f".{kind}" in answer["Content-Disposition"]


def test_no_other_kind_of_report(reader):
    answer = reader.get(one(a_measured_experiment(FIGURES), "report/"), {"as": "docx"})
    assert (answer.status_code, list(answer.json())) == (400, ["as"])


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"playbook": "nothing"}, 404, None),
        ({"playbook": None}, 400, "playbook"),
        ({"cluster": str(uuid.uuid4())}, 400, "cluster"),
        ({"repeats": 0}, 400, "repeats"),
        ({"repeats": 51}, 400, "repeats"),
        ({"minutes": 0}, 400, "minutes"),
        ({"arms": ["10-none"]}, 400, "arms"),
        ({"color": "red"}, 400, "color"),
    ],
)
def test_bad_input_is_named(dba, change, status, field):
    asked = {"playbook": "reconnect", "cluster": str(open_cluster().pk)} | change
    answer = dba.post(URL, asked, format="json")
    assert answer.status_code == status, answer.json()
    assert field is None or list(answer.json()) == [field]
    assert not Experiment.objects.exists()


def test_a_protected_cluster_asks_for_its_name_and_lists_the_changes(dba):
    cluster = a_cluster(protected=True)
    asked = {"playbook": "reconnect", "cluster": str(cluster.pk)}
    refused = dba.post(URL, asked, format="json")
    assert refused.status_code == 400
    assert "2 pools of 20 connections are added" in str(refused.json())
    assert dba.post(URL, asked | {"confirm": cluster.name}, format="json").status_code == 201


def test_who_may_not_and_what_is_not_there(db, reader):
    experiment = an_experiment()
    asked = {"playbook": "reconnect", "cluster": str(experiment.cluster.pk)}
    for client, status in ((anonymous(), 401), (reader, 403)):
        assert client.post(URL, asked, format="json").status_code == status
        assert client.post(one(experiment, "cancel/")).status_code == status
        assert client.post(one(experiment, "measure-more/"), {"blocks": 3}).status_code == status
        assert client.post(ADVICE, asked, format="json").status_code == status
    assert anonymous().get(URL).status_code == 401
    assert anonymous().get(one(experiment, "report/")).status_code == 401
    for path in ("", "report/"):
        assert reader.get(f"{URL}{uuid.uuid4()}/{path}").status_code == 404
    for verb in ("cancel", "measure-more"):
        assert bearer("apply").post(f"{URL}{uuid.uuid4()}/{verb}/").status_code == 404


def test_wrong_methods(db):
    client, experiment = bearer(), an_experiment()
    for verb in ("put", "patch", "delete"):
        assert getattr(client, verb)(one(experiment)).status_code == 405
    assert client.get(one(experiment, "cancel/")).status_code == 405
    assert client.get(one(experiment, "measure-more/")).status_code == 405
    assert client.post(one(experiment, "report/")).status_code == 405
    assert client.get(ADVICE).status_code == 405


def test_advice_is_an_experiment_of_its_own(dba):
    answer = dba.post(ADVICE, {"cluster": str(open_cluster().pk), "minutes": 2}, format="json")
    assert answer.status_code == 201, answer.json()
    found = answer.json()
    assert (found["playbook"], found["state"], found["recommendation"]) == ("pool-size", "queued", None)
    assert all("size" in arm["values"] for arm in found["arms"])


def test_advice_takes_scripts_by_weight(dba):
    workload = {"scripts": [{"text": "SELECT 1;", "weight": 2}, {"text": "SELECT 2;"}], "clients": 8, "scale": 1}
    answer = dba.post(ADVICE, {"cluster": str(open_cluster().pk), "workload": workload}, format="json")
    assert answer.status_code == 201, answer.json()
    arms = start.arms_of(Experiment.objects.get())
    assert [one["weight"] for one in arms[0].options["scripts"]] == [2, 1]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cluster": None}, "pool"),
        ({"question": "color"}, "question"),
        ({"minutes": 0}, "minutes"),
        ({"pool": str(uuid.uuid4())}, "pool"),
        ({"workload": {"protocol": "smoke"}}, "protocol"),
        ({"workload": {"scripts": [{"text": "\\shell ls"}]}}, "scripts"),
        ({"workload": {"scripts": [{"text": "SELECT 1;"}], "tables": "existing"}}, "database"),
    ],
)
def test_advice_on_bad_input_is_named(dba, change, field):
    answer = dba.post(ADVICE, {"cluster": str(open_cluster().pk)} | change, format="json")
    assert (answer.status_code, list(answer.json())) == (400, [field])


@pytest.mark.parametrize(
    "named", [["pool", "entry"], ["pool", "cluster"], ["entry", "cluster"], ["pool", "entry", "cluster"]]
)
def test_advice_is_on_one_pool_entry_or_cluster(dba, named):
    pool, entry = a_pool(), an_entry(cluster=open_cluster())
    ids = {"pool": pool.pk, "entry": entry.pk, "cluster": entry.cluster_id}
    answer = dba.post(ADVICE, {name: str(ids[name]) for name in named}, format="json")
    text = f"name a pool, an entry, or a cluster: only one of them, not {', '.join(named)}"
    assert (answer.status_code, answer.json()) == (400, {named[0]: [text]})


@pytest.mark.parametrize("name", ["pool", "entry"])
def test_what_has_a_pooler_is_measured_through_no_other_one(dba, name):
    measured = {"pool": a_pool, "entry": an_entry}[name](cluster=open_cluster())
    answer = dba.post(ADVICE, {name: str(measured.pk), "pooler": str(a_pooler().pk)}, format="json")
    text = f"{measured} is on pooler {measured.pooler}: leave the pooler out, which is for a cluster without a pool"
    assert (answer.status_code, answer.json()) == (400, {"pooler": [text]})
    assert not Experiment.objects.exists()


def test_wait_answers_once_the_experiment_has_ended(reader, monkeypatch):
    experiment = an_experiment(state=ExperimentState.RUNNING)
    assert reader.get(one(experiment), {"wait": "0.2"}).json()["state"] == "running"
    ended = {"state": ExperimentState.CANCELLED}
    meanwhile(monkeypatch, lambda: Experiment.objects.update(**ended))
    assert reader.get(one(experiment), {"wait": 30}).json()["state"] == "cancelled"
