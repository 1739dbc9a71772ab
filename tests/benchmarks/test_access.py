"""Runs, experiments and what they are made of are seen and started by the teams that they belong to alone."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIRequestFactory, force_authenticate

from benchmarks.api.events import RunStreamView
from benchmarks.errors import InvalidOptions, InvalidTarget
from benchmarks.library.scripts import library
from benchmarks.models import Experiment, ExternalEndpoint, Playbook, Purpose, Run, Script, SettingsProfile
from benchmarks.runs.submission import options
from benchmarks.targets import resolve
from core.accounts.access import Access
from core.accounts.models import Membership, Role, Team
from tests.benchmarks.records import a_run
from tests.callers import bearer, person
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
LISTS = ("runs", "experiments", "scripts", "settings-profiles", "external-endpoints")


@pytest.fixture
def ours() -> Team:
    return Team.objects.create(name="Payments")


@pytest.fixture
def theirs() -> Team:
    return Team.objects.create(name="Search")


def member(team: Team, role: Role) -> User:
    user = person(staff=False)
    Membership.objects.filter(user=user).delete()
    Membership.objects.create(team=team, user=user, role=role)
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def records_of(team: Team) -> dict[str, Any]:
    """One record of each kind, by the name of its list."""
    cluster = a_cluster(name=f"of {team.name}", team=team)
    script = library.create(name=f"script of {team.name}", text="SELECT 1;", team=team)
    endpoint = {"host": "proxy", "port": 6432, "database": "shop", "user": "app"}
    return {
        "runs": a_run(cluster=cluster),
        "experiments": Experiment.objects.enqueue(playbook="burst", definition="", cluster=cluster),
        "scripts": script,
        "settings-profiles": SettingsProfile.objects.create(name=f"profile of {team.name}", team=team),
        "external-endpoints": ExternalEndpoint.objects.create(name=f"proxy of {team.name}", team=team, **endpoint),
    }


def test_lists_and_records_of_the_api_are_those_of_ones_team(ours: Team, theirs: Team) -> None:
    own, others = records_of(ours), records_of(theirs)
    client = bearer(user=member(ours, Role.OWNER))
    for name in LISTS:
        listed = client.get(f"/api/v1/{name}/").json()
        assert (listed["count"], [row["id"] for row in listed["results"]]) == (1, [str(own[name].pk)]), name
        assert client.get(f"/api/v1/{name}/{others[name].pk}/").status_code == 404, name
    for name in LISTS[2:]:
        assert client.delete(f"/api/v1/{name}/{others[name].pk}/").status_code == 404, name


def test_pages_list_and_show_those_of_ones_team(ours: Team, theirs: Team) -> None:
    own, others = records_of(ours), records_of(theirs)
    page = browser(member(ours, Role.VIEWER))
    for name in LISTS:
        text = page.get(f"/{name}/").content.decode()
        assert str(others[name].pk) not in text, name
        assert f"of {theirs.name}" not in text, name
    for name in ("runs", "experiments", "scripts", "settings-profiles"):
        assert page.get(f"/{name}/{others[name].pk}/").status_code == 404, name
        if name != "experiments":  # its playbook here is empty
            assert page.get(f"/{name}/{own[name].pk}/").status_code == 200, name


@pytest.mark.parametrize("part", ["output/", "export/json/"])
def test_no_artifact_of_anothers_run_is_given_out(ours: Team, theirs: Team, part: str) -> None:
    run = records_of(theirs)["runs"]
    assert browser(member(ours, Role.OWNER)).get(f"/runs/{run.pk}/{part}").status_code == 404
    assert browser(member(theirs, Role.VIEWER)).get(f"/runs/{run.pk}/{part}").status_code == 200


@pytest.mark.parametrize(
    "part", ["log/", "samples/", "latencies/", "observations/", "evidence/", "export/?as=csv", "waiting/"]
)
def test_no_part_of_anothers_run_is_read_by_the_api(ours: Team, theirs: Team, part: str) -> None:
    run = records_of(theirs)["runs"]
    assert browser(member(ours, Role.OWNER)).get(f"/api/v1/runs/{run.pk}/{part}").status_code == 404


def test_no_stream_of_anothers_run_is_followed(ours: Team, theirs: Team) -> None:
    run = records_of(theirs)["runs"]
    for team, status in ((ours, 404), (theirs, 200)):
        request = APIRequestFactory().get("/")
        force_authenticate(request, user=member(team, Role.VIEWER))
        assert RunStreamView.as_view()(request, pk=run.pk).status_code == status


def test_runs_are_compared_where_all_of_them_are_seen(ours: Team, theirs: Team) -> None:
    own, others = records_of(ours)["runs"], records_of(theirs)["runs"]
    asked = f"/api/v1/comparisons/?runs={own.pk},{others.pk}"
    user = member(ours, Role.VIEWER)
    assert bearer(user=user).get(asked).status_code == 404
    Membership.objects.create(user=user, team=theirs, role=Role.VIEWER)
    assert bearer(user=user).get(asked).status_code == 200


@pytest.mark.parametrize(("role", "allowed"), [(Role.VIEWER, False), (Role.DEVELOPER, True)])
def test_who_sees_a_run_annotates_it_by_their_role(ours: Team, role: Role, allowed: bool) -> None:
    run, user = records_of(ours)["runs"], member(ours, role)
    answer = bearer(user=user).patch(f"/api/v1/runs/{run.pk}/", {"note": "ours"})
    assert answer.status_code == (200 if allowed else 403)
    text = browser(user).get(f"/runs/{run.pk}/").content.decode()
    assert (f"/runs/{run.pk}/note/" in text) is allowed


def test_nobody_loads_the_target_of_another_team(ours: Team, theirs: Team) -> None:
    others = records_of(theirs)
    access = Access(member(ours, Role.OWNER))
    for target in (
        {"cluster": str(others["runs"].cluster_id), "database": "shop"},
        {"external": str(others["external-endpoints"].pk)},
    ):
        with pytest.raises(InvalidTarget, match="choose one of the list"):
            resolve.find(target, access=access)


def test_a_script_of_another_team_is_in_no_run(ours: Team, theirs: Team) -> None:
    own, others = records_of(ours)["scripts"], records_of(theirs)["scripts"]
    access = Access(member(ours, Role.OWNER))
    for named in ({"script": others.name}, {"script": str(others.pk)}, {"script_version": others.versions.get().pk}):
        with pytest.raises(InvalidOptions, match="there is no"):
            options.validate("pgbench", {"scripts": [named]}, purpose=Purpose.LOAD, access=access)
    found = options.validate("pgbench", {"scripts": [{"script": own.name}]}, purpose=Purpose.LOAD, access=access)
    assert found["scripts"][0]["text"] == "SELECT 1;"


def test_the_form_of_a_run_offers_what_its_user_sees(ours: Team, theirs: Team) -> None:
    records_of(ours)
    records_of(theirs)
    text = browser(member(ours, Role.DEVELOPER)).get("/runs/new/").content.decode()
    assert [name in text for name in ("of Payments", "script of Payments", "profile of Payments")] == [True] * 3
    assert "of Search" not in text


def test_built_in_playbooks_are_for_all_and_added_ones_for_a_team(ours: Team, theirs: Team) -> None:
    client = bearer(user=member(ours, Role.OPERATOR))
    (text,) = [one["toml"] for one in client.get("/api/v1/playbooks/").json()["results"] if one["name"] == "burst"]
    made = client.post("/api/v1/playbooks/", {"toml": text.replace('name = "burst"', 'name = "our-burst"', 1)})
    assert (made.status_code, Playbook.objects.get().team) == (201, ours)
    other = bearer(user=member(theirs, Role.OPERATOR))
    names = [one["name"] for one in other.get("/api/v1/playbooks/").json()["results"]]
    assert ("burst" in names, "our-burst" in names) == (True, False)
    assert other.get("/api/v1/playbooks/our-burst/").status_code == 404
    assert other.delete("/api/v1/playbooks/our-burst/").status_code == 404
    assert client.delete("/api/v1/playbooks/our-burst/").status_code == 204


def test_imported_output_belongs_to_who_imported_it(ours: Team, theirs: Team) -> None:
    text = "transaction type: <builtin: TPC-B (sort of)>\nnumber of transactions actually processed: 10/10\ntps = 5.0\n"
    made = bearer(user=member(ours, Role.DEVELOPER)).post("/api/v1/runs/import/", {"text": text})
    assert made.status_code == 201, json.dumps(made.json())
    run = Run.objects.get()
    assert (run.team, run.owner) == (ours, ours)
    assert bearer(user=member(theirs, Role.OWNER)).get(f"/api/v1/runs/{run.pk}/").status_code == 404


def test_the_runs_of_a_removed_cluster_stay_with_its_team(ours: Team, theirs: Team) -> None:
    cluster = a_cluster(name="gone", team=ours)
    run = Run.objects.enqueue(**resolve.Target(cluster, "shop").fields())
    cluster.delete()
    assert bearer(user=member(ours, Role.VIEWER)).get(f"/api/v1/runs/{run.pk}/").status_code == 200
    assert bearer(user=member(theirs, Role.VIEWER)).get(f"/api/v1/runs/{run.pk}/").status_code == 404


def test_what_a_developer_makes_belongs_to_their_team(ours: Team) -> None:
    made = bearer(user=member(ours, Role.DEVELOPER)).post("/api/v1/scripts/", {"name": "one", "text": "SELECT 1;"})
    assert (made.status_code, Script.objects.get().team) == (201, ours)
