"""The API of teams, their members, people and invitations."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from core.accounts.models import FIRST_TEAM, Invitation, Membership, Role, Team
from pools.models import Cluster
from tests.callers import anonymous, bearer, person, queries_of
from tests.core.accounts.people.records import a_member, a_team
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
TEAMS, PEOPLE, INVITATIONS = "/api/v1/teams/", "/api/v1/people/", "/api/v1/invitations/"


def test_an_administrator_makes_renames_and_removes_a_team() -> None:
    admin = bearer()
    made = admin.post(TEAMS, {"name": "Payments"})
    assert (made.status_code, made.json()["name"]) == (201, "Payments")
    address = f"{TEAMS}{made.json()['id']}/"
    assert admin.patch(address, {"name": "Billing"}).json()["name"] == "Billing"
    assert [one["name"] for one in admin.get(TEAMS).json()["results"]] == ["Billing", "Default"]
    Cluster.objects.filter(pk=a_cluster(name="main").pk).update(team=made.json()["id"])
    refused = admin.delete(address)
    told = "Billing still owns 1 cluster (main): move these to another team or remove them first"
    assert (refused.status_code, refused.json()) == (409, {"detail": told})
    Cluster.objects.all().delete()
    assert admin.delete(address).status_code == 204
    assert admin.delete(f"{TEAMS}{FIRST_TEAM}/").status_code == 409


@pytest.mark.parametrize("body", [{"name": "default"}, {"name": ""}, {}, {"name": "x" * 64}, {"name": "a", "x": 1}])
def test_a_wrong_name_of_a_team_is_refused(body: dict[str, object]) -> None:
    answer = bearer().post(TEAMS, body)
    assert (answer.status_code, set(answer.json()) <= {"name", "x"}) == (400, True)


def test_an_owner_adds_changes_and_removes_members() -> None:
    team = a_team()
    ann = a_member(team, "ann", Role.OWNER)
    bo, client = person("bo", staff=False), bearer(user=ann)
    address = f"{TEAMS}{team.pk}/members/"
    made = client.post(address, {"username": "bo", "role": "viewer"})
    assert (made.status_code, made.json()) == (201, {"user": bo.pk, "username": "bo", "role": "viewer"})
    assert client.patch(f"{address}{bo.pk}/", {"role": "operator"}).json()["role"] == "operator"
    assert [(one["username"], one["role"]) for one in client.get(address).json()["results"]] == [
        ("ann", "owner"),
        ("bo", "operator"),
    ]
    assert client.get(f"{address}{bo.pk}/").json()["username"] == "bo"
    assert client.delete(f"{address}{bo.pk}/").status_code == 204
    assert client.get(f"{address}{bo.pk}/").status_code == 404
    unknown = client.post(address, {"username": "nobody"})
    assert (unknown.status_code, list(unknown.json())) == (400, ["username"])


def test_the_last_owner_goes_only_where_that_is_confirmed() -> None:
    team = a_team()
    ann = a_member(team, "ann", Role.OWNER)
    client, address = bearer(), f"{TEAMS}{team.pk}/members/{ann.pk}/"
    assert [client.patch(address, {"role": "viewer"}).status_code, client.delete(address).status_code] == [409, 409]
    confirmed = {"role": "viewer", "leave_without_owner": True}
    assert client.patch(address, confirmed).json()["role"] == "viewer"
    client.patch(address, {"role": "owner"})
    assert client.delete(f"{address}?leave_without_owner=1").status_code == 204


def test_who_is_no_owner_sees_members_and_changes_none() -> None:
    team, other = a_team(), a_team("Other")
    user = a_member(team, "ann", Role.OPERATOR)
    client, address = bearer(user=user), f"{TEAMS}{team.pk}/"
    assert [one["name"] for one in client.get(TEAMS).json()["results"]] == ["Payments"]
    assert client.get(f"{address}members/").status_code == 200
    assert client.get(f"{TEAMS}{other.pk}/").status_code == 404
    refused = (
        client.post(TEAMS, {"name": "New"}),
        client.patch(address, {"name": "New"}),
        client.delete(address),
        client.post(f"{address}members/", {"username": "ann"}),
        client.patch(f"{address}members/{user.pk}/", {"role": "owner"}),
        client.delete(f"{address}members/{user.pk}/"),
    )
    assert [one.status_code for one in refused] == [403] * 6
    assert Membership.objects.get(user=user).role == Role.OPERATOR


def test_people_are_listed_promoted_and_deactivated() -> None:
    ann = a_member(a_team(), "ann", Role.DEVELOPER)
    admin = bearer(user=User.objects.create_superuser("boss"))
    (found,) = admin.get(f"{PEOPLE}?search=ann").json()["results"]
    (of_team,) = found.pop("teams")
    assert (of_team["name"], of_team["role"]) == ("Payments", "developer")
    assert found == {
        "id": ann.pk,
        "username": "ann",
        "email": "",
        "administrator": False,
        "active": True,
        "second_factor": False,
        "last_login": None,
    }
    address = f"{PEOPLE}{ann.pk}/"
    assert admin.patch(address, {"administrator": True}).json()["administrator"] is True
    changed = admin.patch(address, {"administrator": False, "active": False}).json()
    assert (changed["administrator"], changed["active"]) == (False, False)
    assert admin.patch(address, {"active": True}).json()["active"] is True
    assert [admin.put(address, {}).status_code, admin.delete(address).status_code] == [200, 405]


def test_a_refused_change_of_a_person_changes_nothing() -> None:
    boss = User.objects.create_superuser("boss")
    admin = bearer(user=boss)
    address = f"{PEOPLE}{boss.pk}/"
    assert [admin.patch(address, body).status_code for body in ({"administrator": False}, {"active": False})] == [
        409,
        409,
    ]
    User.objects.create_superuser("other")
    assert admin.patch(address, {"administrator": False, "active": False}).status_code == 409
    boss.refresh_from_db()
    assert (boss.is_staff, boss.is_active) == (True, True)


def test_people_are_for_administrators() -> None:
    ann = a_member(a_team(), "ann", Role.OWNER)
    client = bearer(user=ann)
    assert [client.get(PEOPLE).status_code, client.get(f"{PEOPLE}{ann.pk}/").status_code] == [403, 403]
    assert client.patch(f"{PEOPLE}{ann.pk}/", {"administrator": True}).status_code == 403
    assert bearer("read").get(PEOPLE).status_code == 403
    assert [anonymous().get(one).status_code for one in (TEAMS, PEOPLE, INVITATIONS)] == [401, 401, 401]


def test_an_owner_invites_lists_and_revokes() -> None:
    team, other = a_team(), a_team("Other")
    ann = a_member(team, "ann", Role.OWNER)
    client = bearer(user=ann)
    made = client.post(INVITATIONS, {"team": str(team.pk), "role": "developer", "email": "new@example.org"})
    assert made.status_code == 201
    link, found = made.json()["link"], made.json()["id"]
    assert re.fullmatch(r"http://localhost:8000/invitation/\?token=[\w-]{43}", link)
    (listed,) = client.get(INVITATIONS).json()["results"]
    assert (listed["id"], listed["invited_by"], "link" in listed) == (found, "ann", False)
    assert Client().get(link.removeprefix("http://localhost:8000"), follow=True).status_code == 200
    assert client.delete(f"{INVITATIONS}{found}/").status_code == 204
    assert client.get(INVITATIONS).json()["count"] == 0
    assert Client().get(link.removeprefix("http://localhost:8000"), follow=True).status_code == 410
    elsewhere = client.post(INVITATIONS, {"team": str(other.pk), "role": "viewer"})
    assert (elsewhere.status_code, list(elsewhere.json())) == (400, ["team"])
    theirs = bearer().post(INVITATIONS, {"team": str(other.pk)}).json()["id"]
    assert client.delete(f"{INVITATIONS}{theirs}/").status_code == 404
    assert Invitation.objects.filter(revoked_at=None).count() == 1


@pytest.mark.parametrize(
    "wrong",
    [{"role": "boss"}, {"email": "x"}, {"lifetime_days": 0}, {"lifetime_days": 31}, {"expires_at": "x", "y": 1}],
)
def test_a_wrong_invitation_is_refused(wrong: dict[str, object]) -> None:
    answer = bearer().post(INVITATIONS, {"team": str(FIRST_TEAM), **wrong})
    assert (answer.status_code, Invitation.objects.exists()) == (400, False)


def test_lists_take_as_many_queries_for_one_row_as_for_three() -> None:
    admin, team = bearer(), a_team("a")
    a_member(team, "x", Role.OWNER)
    lists = TEAMS, PEOPLE, INVITATIONS, f"{TEAMS}{team.pk}/members/"
    admin.post(INVITATIONS, {"team": str(team.pk)})
    before = [queries_of(admin, url) for url in lists]
    for name in ("b", "c"):
        Team.objects.create(name=name)
        a_member(team, f"of-{name}", Role.OWNER)
        admin.post(INVITATIONS, {"team": str(team.pk)})
    assert [queries_of(admin, url) for url in lists] == before
