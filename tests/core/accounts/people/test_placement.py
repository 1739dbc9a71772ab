"""The team of what the API makes and changes: named where there are several, moved by who owns both, filtered by."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from benchmarks.models import ExternalEndpoint, Playbook, Run, Script, SettingsProfile
from core.accounts.models import FIRST_TEAM, Role, Team
from core.accounts.people import ownership
from core.audit.models import Entry
from pools.inventory import poolers
from pools.inventory.poolers import PoolerCheck
from pools.models import Cluster, Host, Pooler
from tests.benchmarks.records import a_finished_run
from tests.callers import bearer, person
from tests.core.accounts.people.records import a_member, a_team, browser_of
from tests.pools.records import a_cluster, a_pool, a_pooler

pytestmark = pytest.mark.django_db
LOGIN = {"host": "127.0.0.1", "port": 1, "admin_user": "postgres", "admin_password": "x"}
MADE: dict[str, dict[str, Any]] = {
    "clusters": {"name": "shop", **LOGIN},
    "poolers": {"name": "edge", "kind": "pgbouncer", **LOGIN},
    "hosts": {"name": "db", "address": "127.0.0.1", "port": 1, "user": "x"},
    "scripts": {"name": "look", "text": "SELECT 1;"},
    "settings-profiles": {"name": "wide", "values": {"work_mem": "16MB"}},
}
MODELS: dict[str, Any] = {
    "clusters": Cluster,
    "poolers": Pooler,
    "hosts": Host,
    "scripts": Script,
    "settings-profiles": SettingsProfile,
}
each = pytest.mark.parametrize("noun", MADE)


@pytest.fixture
def first() -> Team:
    return a_team("First")


@pytest.fixture
def second() -> Team:
    return a_team("Second")


@pytest.fixture
def ann(first: Team, second: Team) -> User:
    """An owner of two teams."""
    user = a_member(first, "ann", Role.OWNER)
    second.memberships.create(user=user, role=Role.OWNER)
    return user


def a_record(noun: str, team: Team, **values: Any) -> Any:
    """A record of the team, made over the API by an administrator."""
    made = bearer().post(f"/api/v1/{noun}/", {**MADE[noun], "team": str(team.pk), **values}, format="json")
    assert made.status_code == 201, made.content
    return MODELS[noun].objects.get(pk=made.json()["id"])


def changed(caller: APIClient, noun: str, record: Any, **values: Any) -> Any:
    return caller.patch(f"/api/v1/{noun}/{record.pk}/", values, format="json")


@each
def test_who_fits_several_teams_names_one(noun: str, first: Team, second: Team, ann: User) -> None:
    caller = bearer(user=ann)
    refused = caller.post(f"/api/v1/{noun}/", MADE[noun], format="json")
    assert (refused.status_code, refused.json()) == (
        400,
        {
            "team": [
                "you may make this in several teams: give the id of one as team: "
                f"{first.pk} (First), {second.pk} (Second)"
            ]
        },
    )
    assert not MODELS[noun].objects.exists()
    made = caller.post(f"/api/v1/{noun}/", {**MADE[noun], "team": str(second.pk)}, format="json")
    assert (made.status_code, made.json()["team"], made.json()["shared_with"]) == (201, str(second.pk), [])
    assert MODELS[noun].objects.get().team == second


@each
def test_a_team_without_the_role_is_refused_and_one_out_of_sight_is_unknown(noun: str, first: Team) -> None:
    user, seen, hidden = a_member(first, "ann", Role.OWNER), a_team("Seen"), a_team("Hidden")
    seen.memberships.create(user=user, role=Role.VIEWER)
    caller = bearer(user=user)
    refused = [
        caller.post(f"/api/v1/{noun}/", {**MADE[noun], "team": str(one.pk)}, format="json") for one in (seen, hidden)
    ]
    assert [one.status_code for one in refused] == [400, 400]
    assert refused[0].json()["team"] == [
        f"you may not make this in the team Seen: give the id of one of yours: {first.pk} (First)"
    ]
    assert "Hidden" not in refused[1].content.decode()
    assert "does not exist" in refused[1].json()["team"][0]
    assert not MODELS[noun].objects.exists()


@each
@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_an_owner_of_both_moves_and_shares(noun: str, first: Team, second: Team, ann: User) -> None:
    record, caller = a_record(noun, first), bearer(user=ann)
    before = Entry.objects.count()
    moved = changed(caller, noun, record, team=str(second.pk), shared_with=[str(first.pk)])
    assert (moved.status_code, moved.json()["team"], moved.json()["shared_with"]) == (
        200,
        str(second.pk),
        [str(first.pk)],
    )
    record.refresh_from_db()
    assert (record.team, list(record.shared_with.all())) == (second, [first])
    acts = [entry.fields.get("after") for entry in Entry.objects.order_by("number")[before:]]
    assert acts == [{"team_id": str(second.pk)}, {"shared_with": ["First"]}]
    sent_back = changed(caller, noun, record, team=str(second.pk), shared_with=[str(first.pk)])
    unchanged = Entry.objects.order_by("number")[before + 2 :]
    assert (sent_back.status_code, [list(entry.fields["after"]) for entry in unchanged]) == (200, [["path"]])


@each
def test_something_new_is_shared_at_once(noun: str, first: Team, second: Team, ann: User) -> None:
    body = {**MADE[noun], "team": str(first.pk), "shared_with": [str(second.pk)]}
    assert bearer(user=ann).post(f"/api/v1/{noun}/", body, format="json").status_code == 201
    assert list(MODELS[noun].objects.get().shared_with.all()) == [second]


@each
def test_who_owns_one_of_the_teams_alone_moves_nothing(noun: str, first: Team, second: Team) -> None:
    record, user = a_record(noun, first), a_member(first, "ann", Role.OWNER)
    second.memberships.create(user=user, role=Role.OPERATOR)
    refused = changed(bearer(user=user), noun, record, team=str(second.pk))
    assert (refused.status_code, "owner" in refused.json()["detail"]) == (403, True)
    bo = a_member(second, "bo", Role.OWNER)
    record.shared_with.add(second)
    assert changed(bearer(user=bo), noun, record, team=str(second.pk)).status_code == 403
    record.refresh_from_db()
    assert record.team == first


@pytest.mark.parametrize("noun", ["scripts", "settings-profiles"])
def test_who_may_change_a_record_and_owns_no_team_shares_nothing(noun: str, first: Team, second: Team) -> None:
    record, user = a_record(noun, first), a_member(first, "ann", Role.OPERATOR)
    second.memberships.create(user=user, role=Role.OPERATOR)
    caller = bearer(user=user)
    assert changed(caller, noun, record, shared_with=[str(second.pk)]).status_code == 403
    assert (
        caller.post(
            f"/api/v1/{noun}/",
            {**MADE[noun], "name": "mine", "team": str(first.pk), "shared_with": [str(second.pk)]},
            format="json",
        ).status_code
        == 403
    )
    assert not record.shared_with.exists()
    assert MODELS[noun].objects.count() == 1
    assert changed(caller, noun, record, team=str(first.pk), shared_with=[], description="x").status_code == 200


def test_a_token_without_the_scope_admin_says_so(first: Team, second: Team, ann: User) -> None:
    script = a_record("scripts", first)
    refused = changed(bearer("read", "run", user=ann), "scripts", script, team=str(second.pk))
    assert (refused.status_code, refused.json()["detail"]) == (
        403,
        "this needs the scope admin, which the token lacks: create one with it at /tokens/",
    )


@each
def test_shares_out_of_sight_are_not_read_and_stay(noun: str, first: Team) -> None:
    record, hidden, user = a_record(noun, first), a_team("Hidden"), a_member(first, "ann", Role.OWNER)
    record.shared_with.add(hidden)
    caller = bearer(user=user)
    read = caller.get(f"/api/v1/{noun}/{record.pk}/").json()
    assert read["shared_with"] == []
    assert changed(caller, noun, record, shared_with=read["shared_with"]).status_code == 200
    assert list(record.shared_with.all()) == [hidden]
    assert bearer().get(f"/api/v1/{noun}/{record.pk}/").json()["shared_with"] == [str(hidden.pk)]


@pytest.mark.parametrize("noun", ["clusters", "poolers"])
def test_a_move_with_a_stale_version_is_refused(noun: str, first: Team, second: Team) -> None:
    record, caller = a_record(noun, first), bearer()
    version = record.version
    assert changed(caller, noun, record, version=version, team=str(second.pk)).status_code == 200
    assert changed(caller, noun, record, version=version, team=str(first.pk)).status_code == 409
    record.refresh_from_db()
    assert record.team == second


@each
def test_lists_are_filtered_by_team(noun: str, first: Team, second: Team, ann: User) -> None:
    a_record(noun, first, name="one")
    a_record(noun, second, name="two")
    caller = bearer(user=ann)
    assert [one["name"] for one in caller.get(f"/api/v1/{noun}/?team={second.pk}").json()["results"]] == ["two"]
    hidden = a_team("Hidden")
    assert caller.get(f"/api/v1/{noun}/?team={hidden.pk}").json()["count"] == 0
    assert caller.get(f"/api/v1/{noun}/?team=x").status_code == 400


def test_pools_and_runs_are_filtered_by_the_team_of_their_cluster(first: Team, second: Team) -> None:
    caller = bearer()
    for team in (first, second):
        cluster = a_cluster(name=f"of-{team}")
        ownership.place(cluster, team, [])
        pool = a_pool(name=f"pool-{team}", cluster=cluster, pooler=a_pooler(name=f"pooler-{team}"))
        a_finished_run(pool=pool, cluster=cluster, name=f"run-{team}")
    a_finished_run(name="imported", cluster=None, team=second)
    pools = caller.get(f"/api/v1/pools/?team={first.pk}").json()["results"]
    runs = caller.get(f"/api/v1/runs/?team={second.pk}&ordering=number").json()["results"]
    assert ([one["name"] for one in pools], [one["name"] for one in runs]) == (
        ["pool-First"],
        ["run-Second", "imported"],
    )


PLAYBOOK = (
    'name = "mine"\ntitle = "Mine"\nengine = "pgbench"\n[axes.clients]\n"1" = {clients = 1}\n"2" = {clients = 2}\n'
)


def test_pasted_poolers_playbooks_and_imported_runs_name_a_team_too(second: Team, ann: User) -> None:
    caller = bearer(user=ann)
    text = bearer().get("/api/v1/playbooks/burst/").json()["toml"].replace('name = "burst"', 'name = "mine"', 1)
    bodies: dict[str, dict[str, Any]] = {
        "poolers/watch": {"lines": "127.0.0.1:1", "admin_password": "x"},
        "playbooks": {"toml": text},
        "runs/import": {"text": "pgbench (17.0)\n"},
    }
    for path, body in bodies.items():
        refused = caller.post(f"/api/v1/{path}/", body, format="json")
        assert (refused.status_code, list(refused.json())) == (400, ["team"]), path
    made = caller.post("/api/v1/playbooks/", {**bodies["playbooks"], "team": str(second.pk)}, format="json")
    assert (made.status_code, made.json()["team"]) == (201, str(second.pk))
    assert Playbook.objects.get().team == second
    listed = caller.get(f"/api/v1/playbooks/?team={second.pk}").json()["results"]
    assert [one["name"] for one in listed] == ["mine"]
    assert caller.get("/api/v1/playbooks/burst/").json()["team"] is None
    assert not Run.objects.exists()
    assert not ExternalEndpoint.objects.exists()


def test_an_administrator_who_names_no_team_makes_it_for_the_first(second: Team) -> None:
    made = bearer(user=person("boss")).post("/api/v1/scripts/", MADE["scripts"], format="json")
    assert made.json()["team"] == str(FIRST_TEAM)


def test_a_script_moves_to_no_team_that_has_one_of_its_name(first: Team, second: Team, ann: User) -> None:
    script, _other = a_record("scripts", first), a_record("scripts", second)
    refused = changed(bearer(user=ann), "scripts", script, team=str(second.pk))
    message = "Second has a script named look already: rename one of them first"
    assert (refused.status_code, refused.json()) == (400, {"team": [message]})
    page = browser_of(ann).post(f"/teams/of/script/{script.pk}/", {"team": second.pk, "confirm": "1"})
    assert (page.status_code, message in page.content.decode()) == (422, True)
    script.refresh_from_db()
    assert script.team == first


@pytest.mark.parametrize("noun", ["clusters", "poolers", "hosts", "settings-profiles"])
def test_a_name_that_another_team_has_is_refused_with_no_word_more(noun: str, first: Team, second: Team) -> None:
    a_record(noun, first)
    bo = bearer(user=a_member(second, "bo", Role.OWNER))
    refused = bo.post(f"/api/v1/{noun}/", MADE[noun], format="json")
    message = f"the name '{MADE[noun]['name']}' is taken: choose another name"
    assert (refused.status_code, refused.json()) == (400, {"name": [message]})


def test_a_pooler_of_another_team_at_a_pasted_address_is_not_named(
    first: Team, second: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = a_record("poolers", first)
    monkeypatch.setattr(poolers, "inspect_all", lambda drafts: [PoolerCheck("PgBouncer 1.24.1") for _ in drafts])
    bo = bearer(user=a_member(second, "bo", Role.OWNER))
    body = {"lines": f"{theirs.host}:{theirs.port}", "admin_password": "x"}
    (line,) = bo.post("/api/v1/poolers/watch/", body, format="json").json()["results"]
    assert (line["state"], line["name"] == theirs.name, line["pooler"] == str(theirs.pk)) == ("watched", False, False)
    assert Pooler.objects.exclude(pk=theirs.pk).get().team == second
    (again,) = bo.post("/api/v1/poolers/watch/", body, format="json").json()["results"]
    assert (again["state"], again["pooler"]) == ("known", line["pooler"])
