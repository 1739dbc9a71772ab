"""Sign-out: here alone, or at the provider too where the settings ask for it and the session began there."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from core.accounts.sign_on import sign_out
from core.accounts.sign_on.openid_connect import ProviderAdapter
from tests.callers import person
from tests.core.accounts.sign_on.walking import PASSWORD, sign_on, with_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("oidc", "teams")]


@pytest.fixture
def asked(settings, oidc) -> None:
    settings.OIDC = replace(oidc, sign_out=True)


def signed_on(provider, subject: str, name: str) -> Client:
    client: Client = sign_on(provider, subject, preferred_username=name, groups=["dev"]).client
    return client


def is_signed_out(client: Client) -> bool:
    return "_auth_user_id" not in client.session and sign_out.KEPT not in client.session


def test_the_session_at_the_provider_is_left_unless_the_settings_ask_for_its_end(provider):
    client = signed_on(provider, "o-1", "ann")
    assert sign_out.KEPT not in client.session
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert is_signed_out(client)


def test_it_ends_there_too_and_the_provider_leads_back(provider, asked):
    client = signed_on(provider, "o-2", "bea")
    answer = client.post("/logout/")
    assert (answer.status_code, is_signed_out(client)) == (200, True)
    there = urlsplit(answer.context["to"])
    words = {name: values[0] for name, values in parse_qs(there.query).items()}
    token = words.pop("id_token_hint")
    assert f"{there.scheme}://{there.netloc}" == provider.issuer
    assert words == {"client_id": "pooldeck", "post_logout_redirect_uri": "http://testserver/login/"}
    assert jwt.decode(token, options={"verify_signature": False})["sub"] == "o-2"
    assert "Go on to ACME" in answer.content.decode()
    assert requests.get(answer.context["to"], timeout=60).status_code == 200


def test_the_token_is_kept_sealed_and_ends_with_the_session(provider, asked):
    client = signed_on(provider, "o-3", "cid")
    stored = str([session.get_decoded() for session in Session.objects.all()])
    sealed = client.session[sign_out.KEPT][1]
    token = parse_qs(urlsplit(client.post("/logout/").context["to"]).query)["id_token_hint"][0]
    assert (sealed in stored, token in stored, token in sealed) == (True, False, False)
    assert sealed not in str([session.get_decoded() for session in Session.objects.all()])


def test_it_waits_for_the_second_factor_in_the_same_session(provider, asked):
    signed_on(provider, "o-4", "dan")
    with_app("dan")
    client = sign_on(provider, "o-4").client
    session = client.session
    assert "_auth_user_id" not in session
    client.force_login(User.objects.get(username="dan"))  # as the right code does
    assert sign_out.hint(client.get("/account/").wsgi_request)


def test_who_signed_in_by_password_is_led_nowhere(provider, asked):
    person("eve", staff=False, password=PASSWORD)
    client = Client()
    client.post("/login/", {"username": "eve", "password": PASSWORD})
    assert client.post("/logout/").headers["Location"] == "/login/"


def test_a_token_of_another_person_is_not_used(provider, asked):
    """Somebody began a sign-on in this browser and left it at the second factor; another logs in by password."""
    signed_on(provider, "o-5", "fay")
    with_app("fay")
    client = sign_on(provider, "o-5").client
    person("gus", staff=False, password=PASSWORD)
    client.post("/login/", {"username": "gus", "password": PASSWORD})
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert is_signed_out(client)


@pytest.mark.parametrize("fault", ["down", "none", "script"])
def test_where_the_provider_can_not_be_asked_the_session_here_ends_and_the_person_is_told(
    provider, asked, settings, monkeypatch, fault
):
    client = signed_on(provider, "o-6", "hal")
    endpoint = {"none": {}, "script": {"end_session_endpoint": "javascript:alert(1)"}}
    if fault == "down":
        settings.OIDC = replace(settings.OIDC, issuer="http://localhost:9")
    else:
        monkeypatch.setattr(ProviderAdapter, "openid_config", endpoint[fault])
    answer = client.post("/logout/", follow=True)
    assert answer.redirect_chain == [("/login/", 302)]
    assert "You are signed out here, but maybe not at ACME" in answer.content.decode()
    assert is_signed_out(client)


@pytest.mark.parametrize("fault", ["another key", "too long"])
def test_without_a_token_to_give_the_provider_is_told_the_client_alone(provider, asked, monkeypatch, fault):
    client = signed_on(provider, "o-7", "ida")
    if fault == "too long":
        monkeypatch.setattr(sign_out, "LONGEST_HINT", 10)
    else:
        session = client.session
        session[sign_out.KEPT] = [session[sign_out.KEPT][0], "sealed with a key that was removed"]
        session.save()
    there = urlsplit(client.post("/logout/").context["to"])
    assert set(parse_qs(there.query)) == {"client_id", "post_logout_redirect_uri"}
