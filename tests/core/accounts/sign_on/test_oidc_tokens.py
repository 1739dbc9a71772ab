"""What is asked of the OpenID Connect provider, and which answers and tokens are refused or kept."""

import base64
import hashlib
import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from allauth.socialaccount.models import SocialAccount, SocialToken
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from tests.core.accounts.sign_on.walking import begin, sign_on, with_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("oidc")]


def test_the_request_has_pkce_state_and_nonce_and_the_code_is_redeemed_with_the_verifier(provider, teams, monkeypatch):
    sent: list[dict[str, str]] = []
    real = requests.Session.request

    def watched(self, method, url, **words):
        sent.extend([words["data"]] if words.get("data") else [])
        return real(self, method, url, **words)

    monkeypatch.setattr(requests.Session, "request", watched)
    client = Client()
    there = begin(client)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(there).query).items()}
    assert (asked["code_challenge_method"], asked["response_type"]) == ("S256", "code")
    assert set(asked["scope"].split()) == {"openid", "profile", "email"}
    assert len(asked["nonce"]) >= 32
    assert len(asked["state"]) >= 16
    provider.put("u-13", preferred_username="ned", groups=["dev"])
    client.get(provider.authorize(there, "u-13"))
    (redeemed,) = sent
    digest = base64.urlsafe_b64encode(hashlib.sha256(redeemed["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert digest == asked["code_challenge"]


@pytest.mark.parametrize("method", ["", "client_secret_post", "client_secret_basic"])
def test_the_client_proves_itself_as_it_is_registered(provider, teams, settings, oidc, monkeypatch, method):
    settings.OIDC = replace(oidc, token_auth_method=method)
    redeemed: list[tuple[bool, bool]] = []
    real = requests.Session.request

    def watched(self, verb, url, **words):
        if words.get("data"):
            redeemed.append(("client_secret" in words["data"], words.get("auth") is not None))
        return real(self, verb, url, **words)

    monkeypatch.setattr(requests.Session, "request", watched)
    assert sign_on(provider, "u-40", preferred_username="uma", groups=["dev"]).status_code == 302
    assert redeemed == [(method != "client_secret_basic", method == "client_secret_basic")]


@pytest.mark.parametrize("lie", ["nonce", "state"])
def test_a_wrong_nonce_and_a_wrong_state_are_refused(provider, teams, lie):
    client = Client()
    there = begin(client)
    asked = parse_qs(urlsplit(there).query)[lie][0]
    provider.put("u-14", preferred_username="ole", groups=["dev"])
    back = provider.authorize(there.replace(f"{lie}={asked}", f"{lie}={'x' * len(asked)}"), "u-14")
    assert client.get(back).status_code == 403
    assert not User.objects.filter(username="ole").exists()


def test_the_way_back_is_good_once_and_in_its_own_browser(provider, teams):
    client = Client()
    provider.put("u-15", preferred_username="pia", groups=["dev"])
    back = provider.authorize(begin(client), "u-15")
    assert Client().get(back).status_code == 403
    assert client.get(back).status_code == 302
    client.logout()
    assert client.get(back).status_code == 403


def test_no_token_of_the_provider_is_stored(provider, teams, monkeypatch):
    answers: list[dict[str, str]] = []
    real = requests.Session.request

    def watched(self, method, url, **words):
        answer = real(self, method, url, **words)
        answers.extend([answer.json()] if words.get("data") else [])
        return answer

    monkeypatch.setattr(requests.Session, "request", watched)
    sign_on(provider, "u-18", preferred_username="sam", groups=["dev"])
    with_app("sam")
    assert sign_on(provider, "u-18").headers["Location"] == "/login/second-factor/"  # the login waits in the session
    stored = str([session.get_decoded() for session in Session.objects.all()]) + str(
        list(SocialAccount.objects.values())
    )
    tokens = [answer[kind] for answer in answers for kind in ("access_token", "refresh_token", "id_token")]
    assert len(tokens) == 6
    assert [token for token in tokens if token in stored] == []
    assert not SocialToken.objects.exists()


CLAIMS_ARE_CHECKED = {"verify_signature": False, "verify_aud": True, "verify_iss": True, "verify_exp": True}
FORGERIES = {
    "another key": ({}, "RS256"),
    "no signature": ({}, "none"),
    "another audience": ({"aud": "another-client"}, ""),
    "another issuer": ({"iss": "https://evil.example"}, ""),
    "another client": ({"azp": "another-client"}, ""),
    "expired": ({"exp": 1}, ""),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_id_token_is_refused(provider, teams, monkeypatch, forgery):
    """Where the claims are changed the signature is not looked at, so that it is not what refuses them."""
    real, decode, (changed, algorithm) = requests.Session.request, jwt.decode, FORGERIES[forgery]
    key = None if algorithm == "none" else rsa.generate_private_key(65537, 2048)

    def forging(self, method, url, **words):
        answer = real(self, method, url, **words)
        if words.get("data"):
            told = answer.json()
            claims = decode(told["id_token"], options={"verify_signature": False})
            told["id_token"] = jwt.encode(claims | changed, key, algorithm or "RS256")
            answer.json = lambda: told
        return answer

    def unsigned(token, key, **words):
        return decode(token, **words | {"options": words["options"] | CLAIMS_ARE_CHECKED})

    monkeypatch.setattr(requests.Session, "request", forging)
    if changed:
        monkeypatch.setattr(jwt, "decode", unsigned)
    assert sign_on(provider, "u-25", preferred_username="zoe", groups=["dev"]).status_code == 403
    assert not User.objects.filter(username="zoe").exists()


@pytest.mark.parametrize(
    ("published", "status"), [({}, 302), ({"use": "sig", "alg": "RS512"}, 302), ({"alg": "RS256"}, 403), (None, 403)]
)
def test_a_key_serves_for_its_algorithm_or_where_it_names_none_for_that_of_the_token(
    provider, teams, monkeypatch, published, status
):
    real, key = requests.Session.request, rsa.generate_private_key(65537, 2048)
    own = json.loads(RSAAlgorithm.to_jwk(key.public_key())) | {"kid": "new"}

    def signing(self, method, url, **words):
        answer = real(self, method, url, **words)
        told = answer.json()
        if "id_token" in told:
            claims = jwt.decode(told["id_token"], options={"verify_signature": False})
            told["id_token"] = jwt.encode(claims, key, "RS512", headers={"kid": "new"})
        if "keys" in told:
            told["keys"] = None if published is None else [*told["keys"], own | published]
        answer.json = lambda: told
        return answer

    monkeypatch.setattr(requests.Session, "request", signing)
    assert sign_on(provider, "u-26", preferred_username="yves", groups=["dev"]).status_code == status
