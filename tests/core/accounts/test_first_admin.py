"""The link for the first administrator: what it makes, and every way in which it is refused."""

import logging
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from core.accounts import first_admin
from core.accounts.models import AdminLink
from tests.callers import person

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own
FORM = {"username": "ann", "password1": PASSWORD, "password2": PASSWORD}


def printed(*words: str) -> tuple[str, str]:
    out, errors = StringIO(), StringIO()
    call_command("admin-link", *words, stdout=out, stderr=errors)
    return out.getvalue().strip(), errors.getvalue()


def link() -> str:
    """Where the page of a new link lies."""
    return re.sub(r"^https?://[^/]+", "", printed()[0])


def refusal(client: Client, address: str) -> str:
    """What the page says, which has no form."""
    page = client.get(address, follow=True)
    assert page.status_code == 410
    assert b"password1" not in page.content
    (told,) = re.findall(r'role="alert">\s*(.*?)\s*</div>', page.content.decode(), re.DOTALL)
    return str(told)


def test_the_link_makes_an_administrator_who_is_logged_in():
    client = Client()
    form = client.get(link(), follow=True)
    assert (form.status_code, form.redirect_chain) == (200, [("/first-admin/", 302)])
    made = client.post("/first-admin/", FORM)
    assert (made.status_code, made.headers["Location"]) == (302, "/")
    assert client.get("/").status_code == 200
    ann = User.objects.get()
    assert (ann.username, ann.is_staff, ann.is_superuser, ann.is_active) == ("ann", True, True, True)
    assert ann.check_password(PASSWORD)


def test_the_link_is_printed_alone_with_its_lifetime_beside_it(settings):
    settings.PUBLIC_URL = "https://panel.example.org"
    out, errors = printed("--minutes", "5")
    assert re.fullmatch(r"https://panel\.example\.org/first-admin/\?token=[\w-]{43}", out)
    assert errors == "Open this within 5 minutes; it works once:\n"
    assert timedelta(minutes=4) < AdminLink.objects.get().expires_at - timezone.now() <= timedelta(minutes=5)


def test_it_lasts_an_hour_unless_told_otherwise():
    link()
    assert timedelta(minutes=59) < AdminLink.objects.get().expires_at - timezone.now() <= timedelta(hours=1)


@pytest.mark.parametrize("minutes", ["0", "-5", "10081"])
def test_a_lifetime_out_of_bounds_is_refused(minutes):
    with pytest.raises(CommandError, match=rf"--minutes {minutes}: use 1 to 10080, which is a week"):
        call_command("admin-link", f"--minutes={minutes}")
    assert not AdminLink.objects.exists()


def test_the_token_is_stored_as_its_digest_and_never_logged(caplog):
    caplog.set_level(logging.DEBUG)
    address = link()
    token = address.partition("token=")[2]
    assert token not in str(AdminLink.objects.values_list())
    client = Client()
    client.get(address, follow=True)
    assert token.encode() not in client.get("/first-admin/").content
    client.post("/first-admin/", FORM)
    Client().get(address, follow=True)
    Client().get(address + "x", follow=True)
    assert "the first administrator ann was made by a link" in caplog.text
    assert token not in caplog.text


def test_a_used_link_is_refused():
    address, client = link(), Client()
    client.get(address)
    client.post("/first-admin/", FORM)
    User.objects.all().delete()  # else the administrator would be the reason
    assert refusal(Client(), address) == (
        "This link was used already. Make a new one with pooldeckctl admin-link on the host."
    )


def test_an_expired_link_is_refused_also_where_its_form_was_open():
    address, client = link(), Client()
    assert client.get(address, follow=True).status_code == 200
    AdminLink.objects.update(expires_at=timezone.now())
    told = "This link has expired. Make a new one with pooldeckctl admin-link on the host."
    assert refusal(Client(), address) == told
    sent = client.post("/first-admin/", FORM)
    assert (sent.status_code, told in sent.content.decode(), User.objects.count()) == (410, True, 0)


@pytest.mark.parametrize("address", ["/first-admin/", "/first-admin/?token=", "/first-admin/?token=forged"])
def test_a_forged_or_missing_token_is_refused(address):
    link()
    assert refusal(Client(), address).startswith("This link is not valid, or a newer one replaced it.")
    assert Client().post(address, FORM, follow=True).status_code == 410
    assert not User.objects.exists()


def test_a_new_link_replaces_those_before():
    first, second = link(), link()
    assert refusal(Client(), first).startswith("This link is not valid, or a newer one replaced it.")
    assert Client().get(second, follow=True).status_code == 200


def test_no_link_is_issued_where_there_is_an_administrator():
    User.objects.create_superuser("boss")
    with pytest.raises(CommandError, match="There is an administrator already: boss"):
        call_command("admin-link")


def test_an_administrator_made_meanwhile_is_not_replaced_and_ends_the_link():
    address, client = link(), Client()
    client.get(address)
    User.objects.create_superuser("boss")
    assert client.post("/first-admin/", FORM).status_code == 410
    assert refusal(Client(), address).startswith("There is an administrator already: boss.")
    assert User.objects.get().username == "boss"


def test_staff_and_inactive_administrators_do_not_stand_in_the_way():
    person("carl")
    User.objects.create_superuser("gone", is_active=False)
    assert Client().get(link(), follow=True).status_code == 200


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"password1": "short", "password2": "short"}, "at least 10 characters"),
        ({"password1": "password1234", "password2": "password1234"}, "too common"),
        ({"password2": "another horse battery"}, "didn’t match"),
        ({"username": ""}, "This field is required"),
        ({"username": "carl"}, "already exists"),
    ],
)
def test_the_form_names_what_is_wrong_and_the_link_stays_good(entered, told):
    person("carl", staff=False)
    client = Client()
    client.get(link())
    page = client.post("/first-admin/", FORM | entered)
    assert (page.status_code, told in page.content.decode()) == (422, True), page.content.decode()
    assert client.post("/first-admin/", FORM).status_code == 302


def test_of_two_who_send_the_form_at_once_one_is_made(monkeypatch):
    address = link()
    token = address.partition("token=")[2]
    # both have passed every check when the first of them is saved
    monkeypatch.setattr(first_admin, "verify", lambda _token: None)
    first_admin.make(User(username="ann"), token)
    with pytest.raises(first_admin.LinkRefused, match="used already"):
        first_admin.make(User(username="eve"), token)
    assert User.objects.get().username == "ann"


def test_the_form_is_protected_against_forged_requests():
    client = Client(enforce_csrf_checks=True)
    client.get(link())
    assert client.post("/first-admin/", FORM).status_code == 403
