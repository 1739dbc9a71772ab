"""Sign-on by a real OpenID Connect provider on loopback: who may, as whom, with which roles, and what is refused."""

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs, quote, urlsplit

import jwt
import pytest
import requests
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialToken
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from jwt.algorithms import RSAAlgorithm

from core.accounts.models import Membership, Role, Team
from core.accounts.people import persons
from core.accounts.sign_on.configuration import GroupRules, OpenIDConnect, grants
from core.audit.models import Entry
from tests import oidc_provider
from tests.callers import person
from tests.oidc_provider import OIDCProvider

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own
GROUPS = "dev=Payments:developer; ops=Payments:operator; cn=dba,ou=it=Orders:owner; root=administrator"
RULES = GroupRules(grants(GROUPS))
TRAIL = pytest.mark.django_db(transaction=True)  # its entries are written just before the commit


@pytest.fixture(scope="module")
def provider() -> Iterator[OIDCProvider]:
    with oidc_provider.serving() as served:
        yield served


@pytest.fixture(autouse=True)
def oidc(provider, settings) -> OpenIDConnect:
    settings.OIDC = OpenIDConnect(
        issuer=provider.issuer, client_id="pooldeck", client_secret="s3", name="ACME", rules=RULES
    )
    return settings.OIDC


@pytest.fixture
def teams() -> tuple[Team, Team]:
    return Team.objects.create(name="Payments"), Team.objects.create(name="Orders")


CLAIMS_ARE_CHECKED = {"verify_signature": False, "verify_aud": True, "verify_iss": True, "verify_exp": True}


def begin(client: Client, next_page: str = "") -> str:
    """Press the button on the login page; return the address at the provider."""
    led = client.get("/login/provider/" + (f"?next={quote(next_page)}" if next_page else ""))
    assert led.status_code == 302, led.content
    return led.headers["Location"]


def sign_on(provider: OIDCProvider, subject: str, client: Client | None = None, next_page: str = "", **claims: object):
    """Walk the whole way as this person; return the answer to the way back."""
    client = client or Client()
    if claims:
        provider.put(subject, **claims)
    answer = client.get(provider.authorize(begin(client, next_page), subject))
    answer.client = client
    return answer


def with_app(name: str) -> None:
    """Give this person an authenticator app."""
    user = User.objects.get(username=name)
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})


def roles(name: str) -> set[tuple[str, str, str]]:
    rows = Membership.objects.filter(user__username=name)
    return {(row.team.name, row.role, row.source) for row in rows.select_related("team")}


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


def test_no_token_of_the_provider_is_stored(provider, teams, monkeypatch):
    answers: list[dict[str, str]] = []
    real = requests.Session.request

    def watched(self, method, url, **words):
        answer = real(self, method, url, **words)
        answers.extend([answer.json()] if words.get("data") else [])
        return answer

    monkeypatch.setattr(requests.Session, "request", watched)
    sign_on(provider, "u-18", preferred_username="sam", groups=["dev"])
    Authenticator.objects.create(
        user=User.objects.get(username="sam"), type=Authenticator.Type.TOTP, data={"secret": "x"}
    )
    assert sign_on(provider, "u-18").headers["Location"] == "/login/second-factor/"  # the login waits in the session
    stored = str([session.get_decoded() for session in Session.objects.all()]) + str(
        list(SocialAccount.objects.values())
    )
    tokens = [answer[kind] for answer in answers for kind in ("access_token", "refresh_token", "id_token")]
    assert len(tokens) == 6
    assert [token for token in tokens if token in stored] == []
    assert not SocialToken.objects.exists()


def test_the_second_factor_is_asked_for_unless_that_of_the_provider_counts(provider, teams, settings, oidc):
    settings.REQUIRE_MFA = "all"
    answer = sign_on(provider, "u-19", preferred_username="tom", groups=["dev"])
    assert answer.client.get("/tokens/").headers["Location"] == "/account/"  # to set one up
    settings.OIDC = replace(oidc, second_factor=True)
    assert answer.client.get("/tokens/").headers["Location"] == "/account/"  # it did not count at this sign-in
    answer = sign_on(provider, "u-19")
    assert answer.client.get("/tokens/").status_code == 200
    Authenticator.objects.create(
        user=User.objects.get(username="tom"), type=Authenticator.Type.TOTP, data={"secret": "x"}
    )
    assert sign_on(provider, "u-19").headers["Location"] == "/"
    settings.OIDC = oidc
    assert answer.client.get("/tokens/").status_code == 200  # it has one now
    assert sign_on(provider, "u-19").headers["Location"] == "/login/second-factor/"


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
