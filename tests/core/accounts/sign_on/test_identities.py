"""Sign-on and the accounts that there are: whose account it is, and how people link theirs."""

from dataclasses import replace

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client

from core.audit.models import Entry
from tests.callers import person
from tests.core.accounts.sign_on.walking import PASSWORD, TRAIL, roles, sign_on

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("oidc")]


@TRAIL
def test_an_account_of_the_same_name_is_not_taken_over(provider, teams, settings, oidc):
    person("Ida", staff=False, password=PASSWORD)
    answer = sign_on(provider, "u-9", preferred_username="ida", groups=["root"])
    assert answer.status_code == 403
    assert "account Ida already" in answer.content.decode()
    assert not SocialAccount.objects.exists()
    assert Entry.objects.filter(action="person.sign_in", outcome__startswith="refused").count() == 1
    settings.OIDC = replace(oidc, link_by_name=True)
    assert sign_on(provider, "u-9", preferred_username="ida", groups=["dev"]).status_code == 302
    assert SocialAccount.objects.get().user.username == "Ida"


@TRAIL
def test_a_person_who_is_signed_in_links_their_account_and_ends_the_link(provider, teams):
    client = Client()
    person("ian", staff=False, password=PASSWORD)
    client.post("/login/", {"username": "ian", "password": PASSWORD})
    assert "Go on to ACME" in client.get("/account/provider/link/").content.decode()
    there = client.post("/account/provider/link/").context["to"]
    provider.put("u-10", preferred_username="ian.lee", groups=["ops"])
    assert client.get(provider.authorize(there, "u-10")).headers["Location"] == "/account/"
    assert "ian.lee" in client.get("/account/").content.decode()
    assert sign_on(provider, "u-10").status_code == 302
    assert roles("ian") == {("Payments", "operator", "groups")}
    linked = SocialAccount.objects.get()
    assert client.get(f"/account/provider/{linked.pk}/unlink/").status_code == 405
    assert client.post(f"/account/provider/{linked.pk}/unlink/").status_code == 302
    assert not SocialAccount.objects.exists()
    assert ("Payments", "operator", "groups") not in roles("ian")
    acts = Entry.objects.filter(action__contains="link_sign_on").order_by("number")
    assert list(acts.values_list("action", flat=True)) == ["person.link_sign_on", "person.unlink_sign_on"]


def test_an_account_there_signs_in_to_one_person_only(provider, teams):
    sign_on(provider, "u-11", preferred_username="joe", groups=["dev"])
    client = Client()
    person("kim", password=PASSWORD)
    client.post("/login/", {"username": "kim", "password": PASSWORD})
    there = client.post("/account/provider/link/").context["to"]
    assert client.get(provider.authorize(there, "u-11")).status_code == 403
    assert SocialAccount.objects.get().user.username == "joe"


def test_somebody_elses_link_is_not_there(provider, teams):
    sign_on(provider, "u-12", preferred_username="lea", groups=["dev"])
    client = Client()
    person("max", password=PASSWORD)
    client.post("/login/", {"username": "max", "password": PASSWORD})
    assert client.post(f"/account/provider/{SocialAccount.objects.get().pk}/unlink/").status_code == 404


def test_a_deactivated_person_is_refused(provider, teams):
    sign_on(provider, "u-20", preferred_username="uma", groups=["dev"])
    User.objects.update(is_active=False)
    answer = sign_on(provider, "u-20", groups=["ops"], preferred_username="uma")
    assert answer.headers["Location"] == "/login/"
    assert "_auth_user_id" not in answer.client.session
    assert roles("uma") == {("Payments", "developer", "groups")}


def test_a_name_that_nobody_can_have_is_refused(provider, teams):
    assert sign_on(provider, "u-21", preferred_username="a b", groups=["dev"]).status_code == 403
    assert not User.objects.exists()


def test_another_provider_has_other_people(provider, teams, settings, oidc):
    sign_on(provider, "u-22", preferred_username="vic", groups=["dev"])
    account = SocialAccount.objects.get()
    account.provider = "https://the-one-before.example.org"
    account.save()
    assert sign_on(provider, "u-22").status_code == 403  # the user name is taken
