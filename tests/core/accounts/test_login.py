"""Logging in and out."""

import pytest
from django.test import Client

from tests.callers import person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own


@pytest.fixture
def user():
    return person("ann", password=PASSWORD)


def test_logging_in_leads_to_the_page_that_was_asked_for(user):
    client = Client()
    asked = client.get("/tokens/")
    assert asked.headers["Location"] == "/login/?next=/tokens/"
    page = client.get(asked.headers["Location"])
    assert b'name="next" value="/tokens/"' in page.content
    answer = client.post("/login/", {"username": "ann", "password": PASSWORD, "next": "/tokens/"})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/tokens/")
    assert client.get("/tokens/").status_code == 200


def test_next_never_leads_to_another_host(user):
    answer = Client().post("/login/", {"username": "ann", "password": PASSWORD, "next": "https://evil.example/"})
    assert answer.headers["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_name(user):
    page = Client().post("/login/", {"username": "ann", "password": "wrong"})
    assert page.status_code == 200
    assert b'value="ann"' in page.content
    assert b"alert-danger" in page.content
    assert b"wrong" not in page.content


def test_too_many_failures_lock_the_login_and_say_for_how_long(user, settings):
    settings.AXES_FAILURE_LIMIT = 3
    client = Client()
    for _ in range(3):
        answer = client.post("/login/", {"username": "ann", "password": "wrong"})
    assert answer.status_code == 429
    assert b"Wait 900 seconds" in answer.content
    assert client.post("/login/", {"username": "ann", "password": PASSWORD}).status_code == 429


def test_logging_out_needs_a_post_and_ends_the_session(user):
    client = Client()
    client.force_login(user)
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/tokens/").status_code == 302


def test_the_login_form_is_protected_against_forged_requests(user):
    client = Client(enforce_csrf_checks=True)
    assert client.post("/login/", {"username": "ann", "password": PASSWORD}).status_code == 403
