"""The REST API of tokens."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from core.accounts.models import ApiToken
from tests.callers import anonymous, bearer, person, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/tokens/"


def test_a_made_token_opens_the_api_and_its_text_is_never_shown_again():
    admin = bearer()
    made = admin.post(URL, {"name": "nightly", "scopes": ["read"]})
    assert made.status_code == 201
    text = made.json()["token"]
    # The token has the scope `read` only.
    assert anonymous().get(URL, HTTP_AUTHORIZATION=f"Bearer {text}").status_code == 403
    again = admin.get(f"{URL}{made.json()['id']}/").json()
    assert "token" not in again
    assert text not in str(admin.get(URL).json())
    assert (again["name"], again["scopes"], again["prefix"]) == ("nightly", ["read"], text[:9])


def test_a_revoked_token_is_refused_and_stays_listed():
    admin = bearer()
    made = admin.post(URL, {"name": "leaked", "scopes": ["admin"]}).json()
    leaked = {"HTTP_AUTHORIZATION": f"Bearer {made['token']}"}
    assert anonymous().get(URL, **leaked).status_code == 200
    assert admin.delete(f"{URL}{made['id']}/").status_code == 204
    assert anonymous().get(URL, **leaked).status_code == 401
    assert admin.get(f"{URL}{made['id']}/").json()["revoked_at"] is not None


def test_an_expired_token_and_one_of_an_inactive_user_are_refused():
    user = person()
    expired = ApiToken.objects.issue(user, "old", ["admin"], timezone.now() - timedelta(seconds=1))
    assert anonymous().get(URL, HTTP_AUTHORIZATION=f"Bearer {expired}").status_code == 401
    client = bearer(user=user)
    user.is_active = False
    user.save(update_fields=["is_active"])
    assert client.get(URL).status_code == 401


def test_a_token_loses_its_scopes_with_its_users_rights():
    user = person()
    client = bearer("admin", user=user)
    assert client.get(URL).status_code == 200
    user.is_staff = False
    user.save(update_fields=["is_staff"])
    assert client.get(URL).status_code == 403


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"scopes": ["read"]}, "name"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "scopes": ["root"]}, "scopes"),
        ({"name": "x", "scopes": ["read"], "expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"name": "x" * 101, "scopes": ["read"]}, "name"),
    ],
)
def test_bad_input_is_named_by_field(body, field):
    answer = bearer().post(URL, body)
    assert answer.status_code == 400
    assert list(answer.json()) == [field]


def test_only_admins_see_and_make_tokens():
    assert anonymous().get(URL).status_code == 401
    for method in ("get", "post"):
        assert getattr(bearer("read", "run", "apply"), method)(URL).status_code == 403


def test_a_wrong_method_a_malformed_header_and_a_missing_id():
    admin = bearer()
    assert admin.put(URL, {}).status_code == 405
    assert admin.get(f"{URL}{uuid.uuid4()}/").status_code == 404
    assert admin.get(f"{URL}none/").status_code == 404
    assert anonymous().get(URL, HTTP_AUTHORIZATION="Bearer two words").status_code == 401


def test_the_number_of_queries_does_not_grow_with_the_tokens():
    client = bearer()
    one = queries_of(client, URL)
    for number in range(2):
        ApiToken.objects.issue(person(), f"more {number}", ["read"])
    assert queries_of(client, URL) == one


def test_a_refusal_names_the_scope_that_is_missing_and_who_lacks_it():
    runs = "/api/v1/runs/"
    asked = bearer("run").get(runs)
    lacks = "this needs the scope read, which the token lacks: create one with it at /tokens/"
    assert (asked.status_code, asked.json()) == (403, {"detail": lacks})
    reader = person("ada", staff=False)
    asked = bearer("read", "run", user=reader).post(runs, {})
    lacks = "this needs the scope run, which ada does not hold: ask an admin"
    assert (asked.status_code, asked.json()) == (403, {"detail": lacks})
