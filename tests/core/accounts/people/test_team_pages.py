"""Teams: who makes, renames and removes them, and who changes their members."""

import pytest
from django.test import Client

from core.accounts.models import FIRST_TEAM, Membership, Role, Team
from core.audit.models import Entry
from pools.models import Cluster
from tests.callers import person, queries_of
from tests.core.accounts.people.records import a_member, a_team, browser_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    return browser_of(person("boss"))


def roles(team: Team) -> dict[str, str]:
    return dict(team.memberships.values_list("user__username", "role"))


def acts() -> list[str]:
    return list(Entry.objects.filter(object_kind="team").order_by("number").values_list("action", flat=True))


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_an_administrator_makes_renames_and_removes_a_team(admin: Client) -> None:
    made = admin.post("/teams/new/", {"name": " Payments "})
    team = Team.objects.get(name="Payments")
    assert made.headers["Location"] == f"/teams/{team.pk}/"
    assert b"Payments" in admin.get("/teams/").content
    admin.post(f"/teams/{team.pk}/edit/", {"name": "Billing"})
    assert b"Payments is called Billing now." in admin.get(f"/teams/{team.pk}/").content
    unnamed = admin.post(f"/teams/{team.pk}/remove/", {"name": "Payments"})
    assert "is not the name “Billing”" in unnamed.content.decode()
    assert admin.post(f"/teams/{team.pk}/remove/", {"name": "Billing"}).headers["Location"] == "/teams/"
    assert Team.objects.get().pk == FIRST_TEAM
    assert acts()[-3:] == ["team.create", "team.change", "team.delete"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("payments", "another team is called payments"), ("", "This field is required"), ("x" * 64, "at most 63")],
)
def test_a_name_is_needed_and_good_for_one_team(admin: Client, name: str, told: str) -> None:
    a_team("Payments")
    page = admin.post("/teams/new/", {"name": name})
    assert (page.status_code, told in page.content.decode()) == (422, True)
    assert Team.objects.count() == 2


def test_a_team_that_owns_something_stays_and_the_refusal_names_it(admin: Client) -> None:
    team = a_team()
    for name in ("main", "shop"):
        Cluster.objects.filter(pk=a_cluster(name=name).pk).update(team=team)
    page = admin.post(f"/teams/{team.pk}/remove/", {"name": "Payments"})
    assert page.status_code == 409
    told = "Payments still owns 2 clusters (main, shop): move these to another team or remove them first"
    assert told in page.content.decode()
    assert "2 clusters (main, shop)" in admin.get(f"/teams/{team.pk}/").content.decode()
    assert Team.objects.filter(pk=team.pk).exists()


def test_of_many_records_a_refusal_names_some(admin: Client) -> None:
    team = a_team()
    for number in range(6):
        Cluster.objects.filter(pk=a_cluster(name=f"c{number}").pk).update(team=team)
    assert "6 clusters (c0, c1, c2, c3, c4, …)" in admin.get(f"/teams/{team.pk}/").content.decode()


def test_the_first_team_is_renamed_and_never_removed(admin: Client) -> None:
    a_team()
    page = admin.post(f"/teams/{FIRST_TEAM}/remove/", {"name": "Default"})
    assert (page.status_code, "rename it in place of removing it" in page.content.decode()) == (409, True)
    assert f"/teams/{FIRST_TEAM}/remove/".encode() not in admin.get(f"/teams/{FIRST_TEAM}/").content


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_an_owner_adds_changes_and_removes_members() -> None:
    team = a_team()
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    bo = person("bo", staff=False)
    assert ann.post(f"/teams/{team.pk}/members/add/", {"username": "bo", "role": "viewer"}).status_code == 302
    assert b"bo is a member of Payments now, as viewer." in ann.get(f"/teams/{team.pk}/").content
    ann.post(f"/teams/{team.pk}/members/{bo.pk}/", {"role": "operator"})
    assert roles(team) == {"ann": "owner", "bo": "operator"}
    assert "is operator there" in ann.get(f"/teams/{team.pk}/members/{bo.pk}/remove/").content.decode()
    ann.post(f"/teams/{team.pk}/members/{bo.pk}/remove/")
    assert roles(team) == {"ann": "owner"}
    assert acts()[-3:] == ["team.add_member", "team.change_role", "team.remove_member"]


@pytest.mark.parametrize(
    ("name", "told"),
    [("nobody", "nobody here is called nobody"), ("ann", "ann is a member already, as owner"), ("", "is required")],
)
def test_who_can_not_be_added_is_said_beside_the_field(name: str, told: str) -> None:
    team = a_team()
    ann = browser_of(a_member(team, "ann", Role.OWNER))
    page = ann.post(f"/teams/{team.pk}/members/add/", {"username": name, "role": "viewer"})
    assert (page.status_code, told in page.content.decode()) == (422, True)
    assert roles(team) == {"ann": "owner"}


@pytest.mark.parametrize("path", ["", "remove/"])
def test_the_last_owner_stays_until_it_is_confirmed(path: str) -> None:
    team = a_team()
    user = a_member(team, "ann", Role.OWNER)
    ann, address = browser_of(user), f"/teams/{team.pk}/members/{user.pk}/{path}"
    page = ann.post(address, {"role": "viewer"})
    assert page.status_code == 409
    assert "ann is the last owner of Payments: make another member an owner first" in page.content.decode()
    assert roles(team) == {"ann": "owner"}
    done = ann.post(address, {"role": "viewer", "leave_without_owner": "on"})
    assert done.headers["Location"] == ("/" if path else f"/teams/{team.pk}/")
    assert roles(team) == ({} if path else {"ann": "viewer"})


def test_an_owner_who_is_deactivated_does_not_count() -> None:
    team = a_team()
    gone = a_member(team, "gone", Role.OWNER)
    gone.is_active = False
    gone.save()
    user = a_member(team, "ann", Role.OWNER)
    page = browser_of(user).post(f"/teams/{team.pk}/members/{user.pk}/remove/")
    assert page.status_code == 409


def test_one_of_two_owners_goes_without_a_question() -> None:
    team = a_team()
    ann, bo = (a_member(team, name, Role.OWNER) for name in ("ann", "bo"))
    page = browser_of(ann).get(f"/teams/{team.pk}/members/{bo.pk}/remove/").content
    assert b"leave_without_owner" not in page
    browser_of(ann).post(f"/teams/{team.pk}/members/{bo.pk}/remove/")
    assert roles(team) == {"ann": "owner"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.OPERATOR])
def test_who_is_no_owner_sees_the_members_and_changes_none(role: Role) -> None:
    team = a_team()
    user = a_member(team, "ann", role)
    ann = browser_of(user)
    page = ann.get(f"/teams/{team.pk}/").content
    assert (b"ann" in page, b"Add a member" in page) == (True, False)
    assert ann.post(f"/teams/{team.pk}/members/add/", {"username": "ann", "role": "owner"}).status_code == 403
    assert ann.post(f"/teams/{team.pk}/members/{user.pk}/", {"role": "owner"}).status_code == 403
    assert ann.post(f"/teams/{team.pk}/members/{user.pk}/remove/").status_code == 403
    assert roles(team) == {"ann": role}


def test_an_owner_changes_nothing_of_another_team_and_makes_none() -> None:
    own, other = a_team("Own"), a_team("Other")
    ann = browser_of(a_member(own, "ann", Role.OWNER))
    bo = a_member(other, "bo", Role.VIEWER)
    assert ann.get(f"/teams/{other.pk}/").status_code == 404
    assert ann.post(f"/teams/{other.pk}/members/add/", {"username": "ann", "role": "owner"}).status_code == 404
    assert ann.post(f"/teams/{own.pk}/members/{bo.pk}/remove/").status_code == 404
    assert ann.post(f"/teams/{other.pk}/members/{bo.pk}/remove/").status_code == 404
    assert ann.post("/teams/new/", {"name": "New"}).status_code == 403
    assert ann.post(f"/teams/{own.pk}/edit/", {"name": "New"}).status_code == 403
    assert ann.post(f"/teams/{own.pk}/remove/", {"name": "Own"}).status_code == 403
    assert "Other" not in ann.get("/teams/").content.decode()


def test_the_sidebar_leads_there_who_manages_members(admin: Client) -> None:
    team = a_team()
    links = {
        name: [word for word in ('href="/teams/"', 'href="/people/"') if word in client.get("/").content.decode()]
        for name, client in {
            "admin": admin,
            "owner": browser_of(a_member(team, "ann", Role.OWNER)),
            "viewer": browser_of(a_member(team, "bo", Role.VIEWER)),
        }.items()
    }
    assert links == {"admin": ['href="/teams/"', 'href="/people/"'], "owner": ['href="/teams/"'], "viewer": []}


def test_lists_take_as_many_queries_for_one_row_as_for_three(admin: Client) -> None:
    team = a_team("a")
    a_member(team, "x", Role.OWNER)
    before = queries_of(admin, "/teams/"), queries_of(admin, f"/teams/{team.pk}/"), queries_of(admin, "/people/")
    for name in ("b", "c"):
        a_member(a_team(name), f"of-{name}", Role.OWNER)
        Membership.objects.create(team=team, user=person(f"in-{name}", staff=False), role=Role.OWNER)
    after = queries_of(admin, "/teams/"), queries_of(admin, f"/teams/{team.pk}/"), queries_of(admin, "/people/")
    assert after == before
