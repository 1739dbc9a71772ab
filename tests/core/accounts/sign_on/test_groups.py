"""Sign-on with groups: which teams and roles they give, and who is refused without any."""

from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from core.accounts.models import Membership, Role
from core.accounts.people import persons
from core.audit.models import Entry
from tests.core.accounts.sign_on.walking import RULES, TRAIL, roles, sign_on

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("oidc")]


def test_memberships_follow_the_groups_and_those_by_hand_stay(provider, teams):
    _payments, orders = teams
    sign_on(provider, "u-2", preferred_username="bea", groups=["ops"])
    Membership.objects.create(user=User.objects.get(username="bea"), team=orders, role=Role.VIEWER)
    sign_on(provider, "u-2", preferred_username="bea", groups=["dev", "cn=dba,ou=it"])
    assert roles("bea") == {("Payments", "developer", "groups"), ("Orders", "viewer", "hand")}
    assert sign_on(provider, "u-2", preferred_username="bea", groups=[]).status_code == 302  # a role by hand is left
    assert roles("bea") == {("Orders", "viewer", "hand")}


def test_groups_make_administrators_and_unmake_only_those(provider, teams):
    sign_on(provider, "u-3", preferred_username="cid", groups=["root"])
    sign_on(provider, "u-4", preferred_username="dan", groups=["dev"])
    persons.make_admin(User.objects.get(username="dan"), by=User(is_staff=True))
    assert set(User.objects.filter(is_staff=True).values_list("username", flat=True)) == {"cid", "dan"}
    sign_on(provider, "u-3", groups=["dev"], preferred_username="cid")
    sign_on(provider, "u-4", groups=["root"], preferred_username="dan")
    sign_on(provider, "u-4", groups=["dev"], preferred_username="dan")
    assert set(User.objects.filter(is_staff=True).values_list("username", flat=True)) == {"dan"}


@TRAIL
def test_without_a_group_that_gives_something_nobody_is_made(provider, teams, settings):
    settings.SIGN_ON_CONTACT = "db-team@example.org"
    answer = sign_on(provider, "u-5", preferred_username="eve", groups=["sales", "<b>"])
    page = answer.content.decode()
    assert answer.status_code == 403
    assert [word in page for word in ("sales", "&lt;b&gt;", "db-team@example.org", "ACME")] == [True] * 4
    assert "No groups were seen." in sign_on(provider, "u-5", preferred_username="eve").content.decode()
    assert not User.objects.filter(username="eve").exists()
    assert "_auth_user_id" not in answer.client.session
    assert Entry.objects.filter(action="person.sign_in", object_name="eve", outcome__startswith="refused").count() == 2


def test_who_lost_every_group_is_refused_and_has_no_role_left(provider, teams):
    sign_on(provider, "u-6", preferred_username="fay", groups=["ops"])
    assert sign_on(provider, "u-6", preferred_username="fay", groups=["sales"]).status_code == 403
    assert roles("fay") == set()


def test_a_team_that_nobody_created_gives_nothing(provider):
    assert sign_on(provider, "u-7", preferred_username="gus", groups=["dev"]).status_code == 403


def test_all_may_sign_in_where_the_settings_say_so(provider, settings, oidc):
    settings.OIDC = replace(oidc, rules=replace(RULES, allow_all=True))
    assert sign_on(provider, "u-8", preferred_username="hal").status_code == 302
    assert roles("hal") == {("Default", "viewer", "hand")}
