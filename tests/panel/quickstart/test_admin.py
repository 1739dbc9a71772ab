"""The admin's logins in quickstart.json work, and stay what the person made of them."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from core.accounts.models import ApiToken, Scope, digest
from panel.quickstart import admin
from panel.quickstart.home import Home

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.open()
    return made


def test_the_first_start_makes_a_user_that_may_do_everything(home: Home) -> None:
    user, logins = admin.ensure(home)
    assert (user.username, user.is_staff, user.is_superuser) == ("admin", True, True)
    assert user.check_password(logins["password"])
    token = ApiToken.objects.get(digest=digest(logins["token"]))
    assert sorted(token.scopes) == sorted(Scope.values)


def test_later_starts_tell_the_same_logins(home: Home) -> None:
    _, first = admin.ensure(home)
    home.write_quickstart(first)
    assert admin.ensure(home)[1] == first
    assert ApiToken.objects.count() == 1


def test_a_password_changed_in_the_panel_stays_and_is_not_told(home: Home) -> None:
    user, logins = admin.ensure(home)
    home.write_quickstart(logins)
    user.set_password("one of their own")
    user.save()
    assert admin.ensure(home)[1] == {**logins, "password": ""}
    assert User.objects.get().check_password("one of their own")


def test_a_revoked_token_is_replaced(home: Home) -> None:
    _, logins = admin.ensure(home)
    home.write_quickstart(logins)
    ApiToken.objects.get().revoke()
    assert admin.ensure(home)[1]["token"] != logins["token"]


def test_without_quickstart_json_a_new_password_is_made(home: Home) -> None:
    _, first = admin.ensure(home)
    user, second = admin.ensure(home)
    assert first["password"] != second["password"]
    assert user.check_password(second["password"])


def test_the_first_password_may_be_given(home: Home) -> None:
    user, logins = admin.ensure(home, "given-password")
    assert logins["password"] == "given-password"
    assert user.check_password("given-password")
