"""The tokens page."""

import re
import uuid

import pytest
from django.test import Client

from core.accounts.models import ApiToken, Role
from tests import callers
from tests.callers import anonymous, person, queries_of
from tests.pages import page_of
from tests.pools.records import a_pooler

pytestmark = pytest.mark.django_db
URL = "/tokens/"


@pytest.fixture
def user():
    return person()


@pytest.fixture
def browser(user):
    client = Client()
    client.force_login(user)
    return client


def test_a_made_token_is_shown_once_and_works(browser, user):
    made = browser.post(URL, {"name": "nightly", "scopes": ["read", "admin"], "lifetime_days": "30"})
    text = re.search(rb'value="(pd_[^"]+)"', made.content)[1].decode()
    assert "no-store" in made["Cache-Control"]
    assert text not in page_of(browser.get(URL))
    token = ApiToken.objects.get(user=user)
    assert (token.name, token.scopes) == ("nightly", ["read", "admin"])
    assert (token.expires_at - token.created_at).days in (29, 30)
    assert anonymous().get("/api/v1/tokens/", HTTP_AUTHORIZATION=f"Bearer {text}").status_code == 200


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        ({"name": "", "scopes": ["read"], "lifetime_days": "30"}, "This field is required"),
        ({"name": "kept-name", "lifetime_days": "30"}, "choose at least one scope"),
        ({"name": "kept-name", "scopes": ["root"], "lifetime_days": "30"}, "root"),
        ({"name": "kept-name", "scopes": ["read"], "lifetime_days": "-1"}, "-1"),
    ],
)
def test_bad_input_is_told_beside_the_field_and_nothing_typed_is_lost(browser, values, reported):
    page = browser.post(URL, values)
    assert page.status_code == 422
    assert reported in page_of(page)
    assert f'value="{values["name"]}"' in page_of(page) or not values["name"]
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        (None, ["read"]),
        (Role.VIEWER, ["read"]),
        (Role.DEVELOPER, ["read", "run"]),
        (Role.OPERATOR, ["read", "run", "apply", "admin"]),
        (Role.OWNER, ["read", "run", "apply", "admin"]),
    ],
)
def test_a_token_gets_the_scopes_of_what_its_user_may_do_in_some_team(role, scopes):
    client, user = Client(), person(staff=False)
    user.memberships.update(role=role) if role else user.memberships.all().delete()
    client.force_login(user)
    granted = {
        scope: client.post(URL, {"name": scope, "scopes": [scope], "lifetime_days": "30"}).status_code
        for scope in callers.EVERY_SCOPE
    }
    assert granted == {scope: 200 if scope in scopes else 422 for scope in callers.EVERY_SCOPE}


def test_a_token_of_every_scope_is_no_more_than_its_user():
    user = person(staff=False)
    user.memberships.update(role=Role.DEVELOPER)
    client = callers.bearer(user=user)
    assert client.get("/api/v1/pools/").status_code == 200
    assert client.post("/api/v1/pools/", {}, format="json").status_code == 403
    assert client.get("/api/v1/tokens/").status_code == 403


def test_revoking_asks_first(browser, user):
    ApiToken.objects.issue(user, "leaked", ["read"])
    token = ApiToken.objects.get()
    page = browser.get(f"/tokens/{token.pk}/revoke/")
    assert b"Revoke leaked?" in page.content
    token.refresh_from_db()
    assert token.revoked_at is None
    assert browser.post(f"/tokens/{token.pk}/revoke/").headers["Location"] == URL
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert b"is revoked" in browser.get(URL).content


def test_nobody_sees_or_revokes_the_tokens_of_another(browser):
    ApiToken.objects.issue(person(), "not-yours", ["read"])
    assert b"not-yours" not in browser.get(URL).content
    assert browser.post(f"/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 404


def test_strangers_are_led_to_the_login_and_other_methods_are_refused(browser):
    assert Client().get(URL).headers["Location"] == f"/login/?next={URL}"
    assert browser.delete(URL).status_code == 405
    assert browser.get(f"/tokens/{uuid.uuid4()}/revoke/").status_code == 404


def test_a_limited_token_is_listed_with_what_it_is_limited_to(browser, user):
    pooler = a_pooler(name="front")
    for name, limit in (("db-1", pooler.pk), ("of one that was removed", uuid.uuid4())):
        ApiToken.objects.issue(user, name, ["apply"], limited_to=limit)
    page = page_of(browser.get(URL))
    assert f'only fetch the files of <a href="/poolers/{pooler.pk}/">front</a>' in page
    assert "nothing: its pooler was removed" in page
    assert ">apply<" not in page[: page.index("New token")]


def test_the_number_of_queries_does_not_grow_with_the_tokens(browser, user):
    ApiToken.objects.issue(user, "one", ["apply"], limited_to=a_pooler().pk)
    one = queries_of(browser, URL)
    for number in range(2):
        ApiToken.objects.issue(user, f"more {number}", ["apply"], limited_to=a_pooler().pk)
    assert queries_of(browser, URL) == one
