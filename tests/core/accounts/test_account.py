"""One's own account: its password, and the browsers that are signed in."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from core.accounts import browser_sessions, confirmation
from core.accounts.credentials import Credential, granted
from core.accounts.models import BrowserSession
from tests.callers import bearer, person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own
NEW = "another horse battery"
FORM = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"


@pytest.fixture
def ann():
    return person("ann", staff=False, password=PASSWORD)


def browser(user, agent: str = FIREFOX, address: str = "203.0.113.9") -> Client:
    """A browser in which the user has signed in and seen a page."""
    client = Client(headers={"user-agent": agent}, REMOTE_ADDR=address)
    assert client.post("/login/", {"username": user.username, "password": PASSWORD}).status_code == 302
    assert client.get("/account/").status_code == 200
    return client


def row_of(client: Client) -> BrowserSession:
    return BrowserSession.objects.get(session_key=client.session.session_key)


def test_the_page_lists_each_browser_with_address_and_name(ann):
    here = browser(ann)
    browser(ann, "curl/8.5.0", "2001:db8::7")
    shown = here.get("/account/").content.decode()
    for text in ("Firefox 131, Linux", "203.0.113.9", "this browser", "curl", "2001:db8::7"):
        assert text in shown
    assert here.session.session_key not in shown


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox 131, Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) Chrome/130.0.0.0 Safari/537.36 Edg/130.0",
            "Edge 130, Windows",
        ),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14_1) Version/17.1 Safari/605.1.15", "Safari 605, Mac OS X"),
        ("curl/8.5.0", "curl"),
        ("", "unknown browser"),
    ],
)
def test_a_browser_is_told_in_words(agent, name):
    assert BrowserSession(browser=agent).browser_name == name


def test_one_session_is_ended_and_its_streams_with_it(ann):
    here, there = browser(ann), browser(ann)
    stream = Credential(ann.pk, session_key=there.session.session_key)
    assert stream in granted([stream])
    answer = here.post(f"/account/sessions/{row_of(there).pk}/end/", follow=True)
    assert "The session of Firefox 131, Linux has ended." in answer.content.decode()
    assert stream not in granted([stream])
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200


def test_ending_the_session_of_this_browser_logs_out(ann):
    here = browser(ann)
    assert here.post(f"/account/sessions/{row_of(here).pk}/end/").headers["Location"] == "/login/"
    assert here.get("/account/").status_code == 302


def test_all_other_sessions_are_ended_at_once(ann):
    here, *others = (browser(ann) for _ in range(3))
    bob = browser(person("bob", password=PASSWORD))
    answer = here.post("/account/sessions/end-others/", follow=True)
    assert "2 other sessions have ended." in answer.content.decode()
    assert [one.get("/account/").status_code for one in (here, *others, bob)] == [200, 302, 302, 200]


def test_the_session_of_somebody_else_is_not_found(ann):
    bob = browser(person("bob", password=PASSWORD))
    assert browser(ann).post(f"/account/sessions/{row_of(bob).pk}/end/").status_code == 404
    assert bob.get("/account/").status_code == 200


def test_sessions_that_expired_are_not_listed_and_forgotten(ann):
    here, there = browser(ann), browser(ann, "curl/8.5.0")
    gone = row_of(there)
    Session.objects.filter(session_key=gone.session_key).update(expire_date=timezone.now() - timedelta(seconds=1))
    assert "curl" not in here.get("/account/").content.decode()
    here.post("/account/sessions/end-others/")
    assert not BrowserSession.objects.filter(pk=gone.pk).exists()


def test_the_use_is_written_once_a_minute(ann, monkeypatch):
    here = browser(ann)
    seen = row_of(here).last_seen_at
    here.get("/account/")
    assert row_of(here).last_seen_at == seen
    monkeypatch.setattr(browser_sessions, "_noted", {})
    here.get("/account/")
    assert row_of(here).last_seen_at > seen


def test_a_token_is_no_session(ann):
    assert bearer("read", user=ann).get("/api/v1/pools/").status_code == 200
    assert not BrowserSession.objects.exists()


def test_a_new_password_ends_every_other_session_and_keeps_this_one(ann):
    here, there = browser(ann), browser(ann)
    stream = Credential(ann.pk, session_key=there.session.session_key)
    answer = here.post("/account/password/", FORM)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/account/")
    assert stream not in granted([stream])
    assert [one.get("/account/").status_code for one in (here, there)] == [200, 302]
    ann.refresh_from_db()
    assert ann.check_password(NEW)
    assert confirmation.CONFIRMED_AT in here.session


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"old_password": "wrong"}, "Your old password was entered incorrectly"),
        ({"new_password1": "short", "new_password2": "short"}, "at least 10 characters"),
        ({"new_password1": "password1234", "new_password2": "password1234"}, "too common"),
        ({"new_password2": "yet another battery"}, "didn’t match"),
    ],
)
def test_the_password_form_names_what_is_wrong(ann, entered, told):
    page = browser(ann).post("/account/password/", FORM | entered)
    assert (page.status_code, told in page.content.decode()) == (422, True), page.content.decode()
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)


def test_wrong_old_passwords_count_against_the_limits_of_logins(ann, settings):
    settings.AXES_FAILURE_LIMIT = 3
    here = browser(ann)
    answers = [here.post("/account/password/", FORM | {"old_password": "wrong"}).status_code for _ in range(3)]
    assert answers == [422, 422, 429]
    assert here.post("/account/password/", FORM).status_code == 429
    ann.refresh_from_db()
    assert ann.check_password(PASSWORD)
