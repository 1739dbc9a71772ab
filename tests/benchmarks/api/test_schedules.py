"""Schedules through the API."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from benchmarks.models import Schedule
from benchmarks.runs.submission import submit
from tests.benchmarks.experiments.records import an_experiment
from tests.benchmarks.records import a_finished_run, a_run
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.callers import anonymous, bearer, queries_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/schedules/"
WHEN = {"name": "nightly", "cron": "15 2 * * *", "time_zone": "Europe/Berlin"}


def send(client: APIClient, body: dict[str, Any] | None = None, address: str = ADDRESS, verb: str = "post") -> Any:
    return getattr(client, verb)(address, body or {}, format="json")


def one(schedule: Schedule, *rest: str) -> str:
    return "/".join([f"{ADDRESS}{schedule.pk}", *rest, ""])


def test_a_schedule_is_made_read_changed_and_removed() -> None:
    client, run = bearer("read", "apply"), a_finished_run(0, cluster=a_cluster(protected=False))
    made = send(client, WHEN | {"run": str(run.pk), "repeat": 3})
    assert made.status_code == 201
    body = made.json()
    assert {name: body[name] for name in ("run", "experiment", "repeat", "pair", "paused_at", "needs_consent")} == {
        "run": str(run.pk),
        "experiment": None,
        "repeat": 3,
        "pair": False,
        "paused_at": None,
        "needs_consent": False,
    }
    address = f"{ADDRESS}{body['id']}/"
    assert client.get(address).json() == body
    assert send(client, {"cron": "0 4 * * 1"}, address, "patch").json()["cron"] == "0 4 * * 1"
    assert client.get(ADDRESS, {"run": str(run.pk)}).json()["count"] == 1
    assert client.delete(address).status_code == 204


def test_an_experiment_is_scheduled() -> None:
    experiment = an_experiment()
    assert send(bearer(), WHEN | {"experiment": str(experiment.pk)}).json()["experiment"] == str(experiment.pk)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "run"),
        ({"cron": "99 2 * * *"}, "cron"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"repeat": 0}, "repeat"),
        ({"repeat": 21}, "repeat"),
        ({"starting_deadline_minutes": 0}, "starting_deadline_minutes"),
        ({"pair": True}, "pair"),
        ({"name": " "}, "name"),
        ({"cronn": "15 2 * * *"}, "cronn"),
    ],
)
def test_what_is_no_schedule_is_refused_by_its_field(body: dict[str, Any], field: str) -> None:
    run = a_finished_run(0, cluster=a_cluster())
    answer = send(bearer(), WHEN | ({"run": str(run.pk)} if body else {}) | body)
    assert (answer.status_code, list(answer.json())) == (400, [field])


def test_what_is_repeated_stays() -> None:
    schedule, other = a_schedule(), a_finished_run(0, cluster=a_cluster())
    answer = send(bearer(), {"run": str(other.pk)}, one(schedule), "patch")
    assert (answer.status_code, answer.json()) == (400, {"run": ["make a new schedule to repeat something else"]})


def test_it_is_paused_resumed_and_started_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    client, schedule = bearer(), a_schedule()
    assert send(client, address=one(schedule, "pause")).json()["due_at"] is None
    assert send(client, address=one(schedule, "resume")).json()["due_at"] is not None
    monkeypatch.setattr(submit, "submit", lambda request: [a_run(pk=request.run_id)])
    answer = send(client, address=one(schedule, "run-now"))
    assert (answer.status_code, answer.json()["state"]) == (201, "started")
    assert send(client, address=one(schedule, "run-now")).json()["state"] == "missed"
    assert [row["state"] for row in client.get(one(schedule, "starts")).json()["results"]] == ["missed", "started"]


def test_an_owner_agrees_once() -> None:
    client = bearer()
    schedule = a_schedule(run=a_finished_run(0, cluster=a_cluster(name="prod", protected=True)))
    assert send(client, {"confirm": "prd"}, one(schedule, "consent")).status_code == 400
    assert send(client, {"confirm": "prod"}, one(schedule, "consent")).json()["needs_consent"] is False
    assert send(client, {"confirm": "prod"}, one(schedule, "consent")).status_code == 409


def test_who_may_what() -> None:
    schedule = a_schedule()
    assert anonymous().get(ADDRESS).status_code == 401
    assert bearer("read").get(one(schedule)).status_code == 200
    assert send(bearer("read", "run"), address=one(schedule, "pause")).status_code == 403
    assert bearer().get(f"{ADDRESS}{schedule.run_id}/").status_code == 404


def test_the_list_takes_the_same_queries_for_one_and_three() -> None:
    client = bearer("read")
    a_schedule()
    first = queries_of(client, ADDRESS)
    a_schedule()
    a_schedule(due_at=DUE)
    assert queries_of(client, ADDRESS) == first
