"""Limits of failed logins over names and addresses, and of wrong tokens."""

import re

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.cache import cache
from django.test import Client
from rest_framework.test import APIClient

from core.accounts.models import ApiToken
from tests.callers import person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own


@pytest.fixture(autouse=True)
def limits(settings):
    cache.clear()
    settings.LOGIN_FAILURES_BY_ADDRESS = settings.LOGIN_FAILURES_BY_NAME = 4
    settings.WRONG_TOKENS = 3
    yield settings
    cache.clear()


def log_in(address: str, name: str, password: str) -> int:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password}).status_code


def ask(address: str, token: str) -> tuple[int, str | None]:
    client = APIClient(REMOTE_ADDR=address)
    answer = client.get("/api/v1/pools/", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.headers.get("Retry-After")


def test_an_address_is_limited_over_many_names():
    person("ann", password=PASSWORD)
    assert [log_in("10.0.0.1", f"name-{number}", "wrong") for number in range(4)] == [200] * 3 + [429]
    assert log_in("10.0.0.1", "ann", PASSWORD) == 429
    assert log_in("10.0.0.2", "ann", PASSWORD) == 302


def test_a_name_is_limited_over_many_addresses_but_for_those_it_logged_in_from():
    person("ann", password=PASSWORD)
    assert log_in("10.0.0.9", "ann", PASSWORD) == 302
    assert [log_in(f"10.0.0.{number}", "ann", "wrong") for number in range(4)] == [200] * 3 + [429]
    assert log_in("10.0.0.7", "ann", PASSWORD) == 429
    assert log_in("10.0.0.9", "ann", PASSWORD) == 302


def test_wrong_tokens_of_an_address_are_slowed_and_right_ones_are_not():
    token = ApiToken.objects.issue(person(), "test", ["read"])
    assert [ask("10.0.0.1", "pd_wrong") for _ in range(4)] == [(401, None)] * 3 + [(429, "60")]
    assert ask("10.0.0.1", token) == (200, None)
    assert ask("10.0.0.2", "pd_wrong") == (401, None)


def test_an_unknown_name_is_answered_as_a_wrong_password_is(monkeypatch):
    """By the same page, and after as much hashing: neither the text nor the time tells which names there are."""
    person("ann", password=PASSWORD)
    hashed = []
    hash_as_before = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *words: hashed.append(1) or hash_as_before(*words))
    answers = []
    for name in ("ann", "bob"):
        hashed.clear()
        answer = Client(REMOTE_ADDR="10.0.0.3").post("/login/", {"username": name, "password": "wrong"})
        page = re.sub(
            r'''csrfmiddlewaretoken" value="\w+"|"X-CSRFToken": "\w+"|nonce="[^"]+"''', "", answer.content.decode()
        )
        answers.append((answer.status_code, page.replace(f'value="{name}"', ""), len(hashed)))
    assert answers[0] == answers[1]
    assert answers[0][2] >= 1


def test_what_was_sent_with_a_wrong_password_is_never_stored():
    """A form that asks for one's own password may hold those of servers beside it."""
    ann = person("ann", password=PASSWORD)
    client = Client()
    client.force_login(ann)
    sent = {"old_password": "typed-1", "new_password1": "typed-2", "new_password2": "typed-2"}
    client.post("/account/password/?token=typed-3", sent)
    client.post("/account/password/?token=typed-3", sent)
    (stored,) = AccessAttempt.objects.values()
    assert stored["failures_since_start"] == 2
    assert "typed" not in str(stored)
