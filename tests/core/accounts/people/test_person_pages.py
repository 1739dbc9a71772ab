"""People: the list for administrators, who is one, and who is let in no more."""

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from core.accounts.models import Role
from core.audit.models import Entry
from tests.callers import bearer, person
from tests.core.accounts.people.records import a_member, a_team, browser_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss() -> User:
    return person("boss")


@pytest.fixture
def admin(boss: User) -> Client:
    return browser_of(boss)


def changes(user: User) -> list[dict[str, Any]]:
    entries = Entry.objects.filter(object_kind="person", object_id=str(user.pk), action="person.change")
    return [dict(one.fields) for one in entries.order_by("number")]


def test_the_list_has_teams_roles_sign_in_and_second_factor(admin: Client) -> None:
    ann = a_member(a_team(), "ann", Role.OPERATOR)
    User.objects.filter(pk=ann.pk).update(last_login=timezone.now() - timedelta(days=3))
    Authenticator.objects.create(user=ann, type=Authenticator.Type.TOTP, data={})
    bo = person("bo", staff=False)
    Authenticator.objects.create(user=bo, type=Authenticator.Type.RECOVERY_CODES, data={})
    rows = [" ".join(row.split()) for row in admin.get("/people/").content.decode().split("<tr>")]
    cells = {name: row for name in ("ann", "bo", "boss") for row in rows if f">{name}</a>" in row}
    assert ("Payments</a> (operator)" in cells["ann"], "3 days ago" in cells["ann"]) == (True, True)
    has_second_factor = {name for name, cell in cells.items() if re.search(r"> ?on ?<", cell)}
    assert has_second_factor == {"ann"}
    assert {name: "administrator" in cell for name, cell in cells.items()} == {"ann": False, "bo": False, "boss": True}


def test_the_list_is_searched(admin: Client) -> None:
    person("ann", staff=False)
    page = admin.get("/people/?q=an").content.decode()
    assert (">ann</a>" in page, ">boss</a>" in page) == (True, False)
    assert "Nobody matches" in admin.get("/people/?q=zz").content.decode()


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_a_person_becomes_an_administrator_and_is_none_again(admin: Client, boss: User) -> None:
    User.objects.filter(pk=boss.pk).update(is_superuser=True)
    ann = person("ann", staff=False)
    assert admin.post(f"/people/{ann.pk}/promote/").headers["Location"] == f"/people/{ann.pk}/"
    ann.refresh_from_db()
    assert (ann.is_staff, ann.is_superuser) == (True, True)
    assert browser_of(ann).get("/people/").status_code == 200
    admin.post(f"/people/{ann.pk}/demote/")
    ann.refresh_from_db()
    assert (ann.is_staff, ann.is_superuser) == (False, False)
    flags = {"is_staff": True, "is_superuser": True}, {"is_staff": False, "is_superuser": False}
    assert changes(ann) == [{"before": flags[1], "after": flags[0]}, {"before": flags[0], "after": flags[1]}]


def test_nobody_gives_more_than_they_have(admin: Client) -> None:
    ann = person("ann", staff=False)
    admin.post(f"/people/{ann.pk}/promote/")
    ann.refresh_from_db()
    assert (ann.is_staff, ann.is_superuser) == (True, False)


@pytest.mark.parametrize("act", ["demote", "deactivate"])
def test_the_last_administrator_stays(boss: User, act: str) -> None:
    User.objects.create_user("gone", is_staff=True, is_active=False)
    ann = User.objects.create_user("ann", is_staff=True)
    admin = browser_of(ann)
    admin.post(f"/people/{boss.pk}/{act}/")  # ann is left
    page = admin.post(f"/people/{ann.pk}/demote/", follow=True).content.decode()
    assert "ann is the last administrator: make another person an administrator first" in page
    ann.refresh_from_db()
    assert (ann.is_staff, ann.is_active) == (True, True)


def test_the_last_who_may_set_everything_stays_beside_staff(admin: Client) -> None:
    root = User.objects.create_superuser("root")
    for act in ("demote", "deactivate"):
        page = admin.post(f"/people/{root.pk}/{act}/", follow=True).content.decode()
        assert "root is the last administrator" in page
    root.refresh_from_db()
    assert (root.is_superuser, root.is_active) == (True, True)


def test_nobody_deactivates_themselves(admin: Client, boss: User) -> None:
    person("other")
    page = admin.post(f"/people/{boss.pk}/deactivate/", follow=True).content.decode()
    assert "this is your own account" in page
    boss.refresh_from_db()
    assert boss.is_active


def test_an_administrator_unmakes_themselves_where_another_is_left(admin: Client, boss: User) -> None:
    person("other")
    assert admin.post(f"/people/{boss.pk}/demote/").headers["Location"] == "/"
    assert admin.get("/people/").status_code == 403


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_who_is_deactivated_is_out_at_once_and_comes_back_with_their_tokens(admin: Client) -> None:
    ann = person("ann", staff=False, password="correct horse battery")
    browser, script = browser_of(ann), bearer("read", user=ann)
    assert (browser.get("/").status_code, script.get("/api/v1/pools/").status_code) == (200, 200)
    admin.post(f"/people/{ann.pk}/deactivate/")
    assert (browser.get("/").status_code, script.get("/api/v1/pools/").status_code) == (302, 401)
    assert ann.browser_sessions.count() == 0
    form = {"username": "ann", "password": "correct horse battery"}
    assert Client().post("/login/", form).status_code == 200
    admin.post(f"/people/{ann.pk}/reactivate/")
    assert browser.get("/").status_code == 302
    assert (script.get("/api/v1/pools/").status_code, Client().post("/login/", form).status_code) == (200, 302)
    assert [one["after"] for one in changes(ann)] == [{"is_active": False}, {"is_active": True}]


@pytest.mark.parametrize("act", ["promote", "demote", "deactivate", "reactivate"])
def test_others_than_administrators_may_do_none_of_it(boss: User, act: str) -> None:
    ann = browser_of(a_member(a_team(), "ann", Role.OWNER))
    assert ann.post(f"/people/{boss.pk}/{act}/").status_code == 403
    assert (ann.get("/people/").status_code, ann.get(f"/people/{boss.pk}/").status_code) == (403, 403)


def test_an_unknown_person_is_not_found(admin: Client) -> None:
    assert [admin.get("/people/0/").status_code, admin.post("/people/0/promote/").status_code] == [404, 404]
