"""Sign-on by a real OpenID Connect provider on loopback: the way there and back, and what stands beside it."""

from dataclasses import replace
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from core.audit.models import Entry
from tests.callers import person
from tests.core.accounts.sign_on.walking import PASSWORD, TRAIL, begin, roles, sign_on, with_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("oidc")]


def test_the_login_page_has_the_button_and_one_submit_button(settings):
    page = Client().get("/login/?next=/tokens/%3Fa%3D1%26b").content.decode()
    assert "Sign in with ACME" in page
    assert 'href="/login/provider/?next=%2Ftokens%2F%3Fa%3D1%26b"' in page
    assert page.count('type="submit"') == 1
    settings.OIDC = None
    assert "Sign in with" not in Client().get("/login/").content.decode()
    assert Client().get("/login/provider/").headers["Location"] == "/login/"


@TRAIL
def test_the_first_sign_on_makes_a_person_with_the_roles_of_their_groups(provider, teams):
    answer = sign_on(
        provider,
        "u-1",
        preferred_username="ann",
        email="ann@example.org",
        name="Ann Lee",
        groups=["dev", "ops", "else"],
    )
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    ann = User.objects.get(username="ann")
    assert (ann.email, ann.first_name, ann.last_name, ann.is_staff) == ("ann@example.org", "Ann", "Lee", False)
    assert not ann.has_usable_password()
    assert roles("ann") == {("Payments", "operator", "groups")}
    assert answer.client.get("/account/").status_code == 200
    signed_in = Entry.objects.get(action="person.sign_in")
    assert (signed_in.object_name, '"by": "ACME"' in signed_in.change, signed_in.source) == ("ann", True, "127.0.0.1")


def test_a_sign_in_that_the_person_cancels_says_so(provider):
    client = Client()
    answer = client.get(provider.deny(begin(client)))
    # the mock forgets the state where it denies, as some providers do
    assert answer.status_code == 403
    state = parse_qs(urlsplit(begin(client)).query)["state"][0]
    assert "canceled" in client.get(f"/login/provider/callback/?error=access_denied&state={state}").content.decode()


@pytest.mark.parametrize(
    "next_page", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_nobody_is_led_to_another_site(provider, teams, next_page):
    answer = sign_on(provider, "u-16", next_page=next_page, preferred_username="quy", groups=["dev"])
    assert answer.headers["Location"] == "/"
    assert answer.client.get(f"/login/provider/?next={quote(next_page)}").headers["Location"] == "/"


def test_the_page_asked_for_comes_after_the_sign_on(provider, teams):
    answer = sign_on(provider, "u-17", next_page="/tokens/", preferred_username="ray", groups=["dev"])
    assert answer.headers["Location"] == "/tokens/"


def test_the_second_factor_is_asked_for_unless_that_of_the_provider_counts(provider, teams, settings, oidc):
    settings.REQUIRE_MFA = "all"
    answer = sign_on(provider, "u-19", preferred_username="tom", groups=["dev"])
    assert answer.client.get("/tokens/").headers["Location"] == "/account/"  # to set one up
    settings.OIDC = replace(oidc, second_factor=True)
    assert answer.client.get("/tokens/").headers["Location"] == "/account/"  # it did not count at this sign-in
    answer = sign_on(provider, "u-19")
    assert answer.client.get("/tokens/").status_code == 200
    with_app("tom")
    assert sign_on(provider, "u-19").headers["Location"] == "/"
    settings.OIDC = oidc
    assert answer.client.get("/tokens/").status_code == 200  # it has one now
    assert sign_on(provider, "u-19").headers["Location"] == "/login/second-factor/"


def test_a_provider_that_does_not_answer_is_named_and_passwords_still_work(settings, oidc):
    settings.OIDC = replace(oidc, issuer="http://localhost:9")
    answer = Client().get("/login/provider/")
    assert answer.status_code == 503
    assert "ACME can’t be reached" in answer.content.decode()
    person("wil", password=PASSWORD)
    assert Client().post("/login/", {"username": "wil", "password": PASSWORD}).status_code == 302


def test_a_provider_that_calls_itself_another_is_refused(provider, settings, oidc, caplog):
    settings.OIDC = replace(oidc, issuer=f"{provider.issuer}/.well-known/openid-configuration")
    assert Client().get("/login/provider/").status_code == 503
    assert f"it calls itself {provider.issuer}: set POOLDECK_OIDC_ISSUER to that" in caplog.text


def test_failed_passwords_do_not_lock_the_provider_out(provider, teams):
    sign_on(provider, "u-23", preferred_username="xia", groups=["dev"])
    for _ in range(11):
        refused = Client().post("/login/", {"username": "xia", "password": "wrong"})
    assert refused.status_code == 429
    assert sign_on(provider, "u-23").status_code == 302


def test_a_person_without_a_password_confirms_by_the_provider(provider, teams, monkeypatch):
    answer = sign_on(provider, "u-24", preferred_username="yan", groups=["dev"])
    session = answer.client.session
    session["password_confirmed_at"] = 0.0
    session.save()
    assert answer.client.get("/account/password/").headers["Location"] == "/account/"
    page = answer.client.get("/account/confirm/?next=/account/app/add/").content.decode()
    assert "/login/provider/?again&amp;next=%2Faccount%2Fapp%2Fadd%2F" in page
    there = answer.client.get("/login/provider/?again&next=/account/app/add/").headers["Location"]
    assert "prompt=login" in there
    back = answer.client.get(provider.authorize(there, "u-24"))
    assert back.headers["Location"] == "/account/app/add/"
    assert answer.client.get("/account/app/add/").status_code == 200
