"""Logins with a second factor: codes of an app, recovery codes, their limits, and who has to have one."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from core.accounts import confirmation
from core.accounts.models import Membership, Role, Team
from tests.callers import bearer, person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own
LOGIN = {"username": "ann", "password": PASSWORD}
QUESTION = "/login/second-factor/"


@pytest.fixture(autouse=True)
def no_used_codes():
    """A code that one test used stays good for the next."""
    cache.clear()


@pytest.fixture
def ann():
    return person("ann", password=PASSWORD)


def code_of(secret: str, steps: int = 0) -> str:
    """What an app shows, some steps of half a minute from now."""
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


def wrong_code(secret: str) -> str:
    """A code that is right at no moment around now."""
    return next(code for code in ("000000", "000001") if code not in {code_of(secret, step) for step in (-1, 0, 1)})


def with_app(user) -> tuple[Client, str]:
    """A browser in which the user has set up an app, and its secret."""
    client = Client()
    client.post("/login/", {"username": user.username, "password": PASSWORD})
    page = client.get("/account/app/add/")
    secret = page.context["form"].secret
    assert client.post("/account/app/add/", {"code": code_of(secret, -1)}).status_code == 302
    return client, secret


def recovery_codes(client: Client) -> list[str]:
    return list(client.get("/account/recovery-codes/").context["unused_codes"])


def test_an_app_is_added_by_its_first_code_and_its_secret_is_sealed(ann):
    client = Client()
    client.post("/login/", LOGIN)
    page = client.get("/account/app/add/")
    secret = page.context["form"].secret
    told = parse_qs(urlsplit(page.context["totp_url"]).query)
    assert (told["secret"], told["issuer"]) == ([secret], ["Pooldeck"])
    assert b"data:image/svg+xml;base64," in page.content
    refused = client.post("/account/app/add/", {"code": wrong_code(secret)})
    assert b"That code is not right" in refused.content
    assert not Authenticator.objects.exists()
    added = client.post("/account/app/add/", {"code": code_of(secret)})
    assert added.headers["Location"] == "/account/recovery-codes/"
    assert len(recovery_codes(client)) == 10
    assert secret not in str(list(Authenticator.objects.values()))


def test_the_password_alone_is_not_enough_and_the_code_leads_to_the_page_asked_for(ann):
    _, secret = with_app(ann)
    client = Client()
    asked = client.post("/login/", LOGIN | {"next": "/tokens/"})
    assert asked.headers["Location"] == QUESTION
    assert client.get("/tokens/").headers["Location"] == "/login/?next=/tokens/"
    answered = client.post(QUESTION, {"code": code_of(secret)})
    assert answered.headers["Location"] == "/tokens/"
    assert client.get("/tokens/").status_code == 200
    assert confirmation.CONFIRMED_AT in client.session


def test_a_code_is_good_once(ann):
    _, secret = with_app(ann)
    code = code_of(secret)
    first, second = Client(), Client()
    for client in (first, second):
        client.post("/login/", LOGIN)
    assert first.post(QUESTION, {"code": code}).status_code == 302
    assert second.post(QUESTION, {"code": code}).status_code == 200
    assert second.get("/").status_code == 302


def test_a_recovery_code_logs_in_once(ann):
    client, _ = with_app(ann)
    code = recovery_codes(client)[0]
    answers = []
    for _ in range(2):
        other = Client()
        other.post("/login/", LOGIN)
        answers.append(other.post(QUESTION, {"code": code}).status_code)
    assert answers == [302, 200]
    assert len(recovery_codes(client)) == 9


@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_wrong_codes_lock_the_login_and_right_passwords_between_them_do_not_help(ann, settings, kind):
    settings.AXES_FAILURE_LIMIT = 3
    owner, secret = with_app(ann)
    wrong, right = wrong_code(secret), code_of(secret)
    if kind == "recovery":
        right = recovery_codes(owner)[0]
        wrong = "00000000"
    statuses = []
    for _ in range(3):
        client = Client()
        client.post("/login/", LOGIN)
        statuses.append(client.post(QUESTION, {"code": wrong}).status_code)
    assert statuses == [200, 200, 429]
    assert client.post(QUESTION, {"code": right}).status_code == 429
    assert Client().post("/login/", LOGIN).status_code == 429


def test_without_a_password_there_is_no_question():
    assert Client().get(QUESTION).headers["Location"] == "/login/"
    assert Client().post(QUESTION, {"code": "123456"}).headers["Location"] == "/login/"


def test_a_person_deactivated_before_the_code_does_not_get_in(ann):
    _, secret = with_app(ann)
    client = Client()
    client.post("/login/", LOGIN)
    ann.is_active = False
    ann.save()
    client.post(QUESTION, {"code": code_of(secret)})
    assert client.get("/").status_code == 302


def test_what_changes_the_second_factor_needs_a_login_of_the_last_minutes(ann):
    client, secret = with_app(ann)
    session = client.session
    session[confirmation.CONFIRMED_AT] = time.time() - confirmation.HOLDS_FOR_S - 1
    session.save()
    for page in ("app/remove", "recovery-codes", "recovery-codes/new", "passkeys/add"):
        asked = client.get(f"/account/{page}/")
        assert asked.headers["Location"] == f"/account/confirm/?next=%2Faccount%2F{page.replace('/', '%2F')}%2F"
    assert client.post("/account/app/remove/").status_code == 302
    assert Authenticator.objects.filter(type="totp").exists()
    refused = client.post("/account/confirm/", {"code": wrong_code(secret)})
    assert (refused.status_code, b"That code is not right" in refused.content) == (422, True)
    confirmed = client.post("/account/confirm/", {"code": code_of(secret), "next": "/account/app/remove/"})
    assert confirmed.headers["Location"] == "/account/app/remove/"
    assert client.post("/account/app/remove/").headers["Location"] == "/account/"
    assert not Authenticator.objects.exists()  # recovery codes of nothing are none


def test_the_password_confirms_too_and_next_never_leads_elsewhere(ann):
    client = Client()
    client.force_login(ann)
    assert client.post("/account/confirm/", {"password": "wrong"}).status_code == 422
    sent = {"password": PASSWORD, "next": "https://evil.example/"}
    assert client.post("/account/confirm/", sent).headers["Location"] == "/account/"
    assert confirmation.CONFIRMED_AT in client.session


def test_wrong_confirmations_count_against_the_limits_of_logins(ann, settings):
    settings.AXES_FAILURE_LIMIT = 3
    client, secret = with_app(ann)
    sent = [{"password": "wrong"}, {"code": wrong_code(secret)}, {"credential": "{}"}]
    assert [client.post("/account/confirm/", one).status_code for one in sent] == [422, 422, 429]
    assert client.post("/account/confirm/", {"password": PASSWORD}).status_code == 429


def test_a_forged_passkey_is_refused_and_counted(ann, settings):
    settings.AXES_FAILURE_LIMIT = 3
    client = Client()
    options = client.get("/login/passkey/", headers={"accept": "application/json"}).json()["request_options"]
    assert options["publicKey"]["challenge"]
    answers = [client.post("/login/passkey/", {"credential": "{}"}).status_code for _ in range(3)]
    assert answers == [302, 302, 429]
    assert client.post("/login/passkey/", {"credential": "{}"}).status_code == 429


@pytest.mark.parametrize(
    ("required", "staff", "expected"),
    [("none", True, 200), ("admins", True, 302), ("admins", False, 200), ("operators", True, 302), ("all", False, 302)],
)
def test_who_has_to_have_a_second_factor_is_led_to_it_at_the_next_request(settings, required, staff, expected):
    user = person("ann", staff=staff, password=PASSWORD)
    client = Client()
    client.post("/login/", LOGIN)
    assert client.get("/tokens/").status_code == 200
    settings.REQUIRE_MFA = required
    assert client.get("/tokens/").status_code == expected
    assert client.post("/tokens/", {"name": "x"}).status_code == (302 if expected == 302 else 422)
    assert client.get("/api/v1/pools/").status_code == (403 if expected == 302 else 200)
    assert [client.get(page).status_code for page in ("/account/", "/account/app/add/", "/texts.js")] == [200] * 3
    assert bearer("read", user=user).get("/api/v1/pools/").status_code == 200


def test_a_header_that_is_no_token_does_not_pass_the_requirement(ann, settings):
    settings.REQUIRE_MFA = "all"
    client = Client()
    client.post("/login/", LOGIN)
    assert client.get("/api/v1/pools/", headers={"authorization": "Basic YTpi"}).status_code == 403
    assert client.get("/api/v1/pools/", headers={"authorization": "Bearer wrong"}).status_code == 401


def test_with_a_second_factor_everything_works_and_the_last_one_stays(ann, settings):
    client, _ = with_app(ann)
    settings.REQUIRE_MFA = "all"
    assert client.get("/tokens/").status_code == 200
    refused = client.post("/account/app/remove/")
    assert b"add another one before you remove this one" in refused.content
    assert Authenticator.objects.filter(type="totp").exists()


@pytest.mark.parametrize(("role", "expected"), [("viewer", 200), ("developer", 200), ("operator", 302), ("owner", 302)])
def test_a_raised_role_takes_a_second_factor_at_the_next_request(settings, role, expected):
    settings.REQUIRE_MFA = "operators"
    user = person("eli", staff=False, password=PASSWORD)
    Membership.objects.update_or_create(user=user, team=Team.objects.get(), defaults={"role": Role.VIEWER})
    client = Client()
    client.post("/login/", LOGIN | {"username": "eli"})
    assert client.get("/pools/").status_code == 200
    Membership.objects.filter(user=user).update(role=role)
    assert client.get("/pools/").status_code == expected
    assert bearer("read", user=user).get("/api/v1/pools/").status_code == 200


def test_a_reset_removes_every_factor_and_ends_the_sessions_but_no_token(ann, capsys):
    client, _ = with_app(ann)
    script = bearer("read", user=ann)
    call_command("reset-second-factor", "ann")
    assert "Removed 2 factors of ann" in capsys.readouterr().out  # the app and the recovery codes
    assert not Authenticator.objects.filter(user=ann).exists()
    assert client.get("/pools/").headers["Location"].startswith("/login/")
    assert script.get("/api/v1/pools/").status_code == 200
    assert Client().post("/login/", LOGIN).headers["Location"] == "/"
    with pytest.raises(CommandError, match="there is no user bob"):
        call_command("reset-second-factor", "bob")
