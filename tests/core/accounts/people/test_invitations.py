"""Invitations by link: who makes them, what they make, and every way in which they are refused."""

import logging
import re
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from core.accounts.first_admin import LinkRefused
from core.accounts.models import FIRST_TEAM, Invitation, Membership, Role, Team
from core.accounts.people import invitations
from core.audit.models import Entry
from tests.callers import person
from tests.core.accounts.people.records import a_member, a_team, browser_of

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"  # the tests' own
FORM = {"username": "new", "password1": PASSWORD, "password2": PASSWORD}


@pytest.fixture
def team() -> Team:
    return a_team()


@pytest.fixture
def ann(team: Team) -> User:
    return a_member(team, "ann", Role.OWNER)


def made(client: Client, team: Team, **values: object) -> str:
    """Where the page of a new link lies, as the page of the form shows it."""
    page = client.post("/invitations/new/", {"team": team.pk, "role": "developer", "lifetime_days": 7, **values})
    assert page.status_code == 200
    (link,) = set(re.findall(r'value="(http://localhost:8000/invitation/\?token=[\w-]{43})"', page.content.decode()))
    return str(link.removeprefix("http://localhost:8000"))


def link(team: Team, by: User) -> str:
    return invitations.issue(team, Role.DEVELOPER, by)[1].removeprefix("http://localhost:8000")


def refusal(client: Client, address: str) -> str:
    """What the page says, which has no form."""
    page = client.get(address, follow=True)
    assert page.status_code == 410
    assert b"password1" not in page.content
    (told,) = re.findall(r'role="alert">\s*(.*?)\s*</div>', page.content.decode(), re.DOTALL)
    return str(told)


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_an_owner_invites_and_the_person_is_a_member_who_is_signed_in(team: Team, ann: User) -> None:
    address, client = made(browser_of(ann), team, email="new@example.org"), Client()
    form = client.get(address, follow=True)
    assert (form.status_code, form.redirect_chain) == (200, [("/invitation/", 302)])
    assert "ann invites you as developer." in " ".join(form.content.decode().split())
    done = client.post("/invitation/", FORM)
    assert (done.status_code, done.headers["Location"]) == (302, "/")
    assert client.get("/").status_code == 200
    user = User.objects.get(username="new")
    assert (user.email, user.is_staff, user.check_password(PASSWORD)) == ("new@example.org", False, True)
    assert list(user.memberships.values_list("team__name", "role")) == [("Payments", "developer")]
    kinds = Entry.objects.filter(object_kind="invitation").order_by("number")
    assert list(kinds.values_list("action", "actor_name")) == [
        ("invitation.create", "ann"),
        ("invitation.use", "nobody"),
    ]
    of_person = Entry.objects.filter(object_kind="person", object_id=str(user.pk)).order_by("number")
    assert list(of_person.values_list("action", flat=True)) == ["person.create", "person.sign_in"]
    assert Entry.objects.filter(action="team.add_member", object_id=str(team.pk), actor_name="nobody").count() == 1


def test_in_the_only_team_the_role_of_the_invitation_counts() -> None:
    address = link(Team.objects.get(pk=FIRST_TEAM), person("boss"))
    client = Client()
    client.get(address)
    client.post("/invitation/", FORM)
    assert list(User.objects.get(username="new").memberships.values_list("role", flat=True)) == ["developer"]


def test_the_token_is_stored_as_its_digest_and_never_logged(team: Team, ann: User, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    browser = browser_of(ann)
    address = made(browser, team)
    token = address.partition("token=")[2]
    assert token not in str(Invitation.objects.values_list())
    assert token.encode() not in browser.get("/invitations/").content
    client = Client()
    client.get(address, follow=True)
    assert token.encode() not in client.get("/invitation/").content
    client.post("/invitation/", FORM)
    assert "new accepted the invitation of ann into Payments" in caplog.text
    assert token not in caplog.text


def test_a_used_link_is_refused(team: Team, ann: User) -> None:
    address, client = link(team, ann), Client()
    client.get(address)
    client.post("/invitation/", FORM)
    assert refusal(Client(), address) == "This link was used already. Ask for a new one."


def test_an_expired_link_is_refused_also_where_its_form_was_open(team: Team, ann: User) -> None:
    address, client = link(team, ann), Client()
    assert client.get(address, follow=True).status_code == 200
    Invitation.objects.update(expires_at=timezone.now())
    told = "This link has expired. Ask an owner of the team for a new one."
    assert refusal(Client(), address) == told
    sent = client.post("/invitation/", FORM)
    assert (sent.status_code, told in sent.content.decode()) == (410, True)
    assert not User.objects.filter(username="new").exists()


def test_a_revoked_link_is_refused_and_leaves_the_list(team: Team, ann: User) -> None:
    address, browser = link(team, ann), browser_of(ann)
    invitation = Invitation.objects.get()
    assert b"Payments" in browser.get("/invitations/").content
    browser.post(f"/invitations/{invitation.pk}/revoke/")
    assert "The invitation into Payments is revoked." in browser.get("/invitations/").content.decode()
    assert "No open invitation" in browser.get("/invitations/").content.decode()
    assert refusal(Client(), address) == "This link was revoked. Ask an owner of the team for a new one."


def test_a_used_link_is_not_revoked(team: Team, ann: User) -> None:
    address, client = link(team, ann), Client()
    client.get(address)
    client.post("/invitation/", FORM)
    page = browser_of(ann).post(f"/invitations/{Invitation.objects.get().pk}/revoke/", follow=True)
    assert "this invitation was used already: remove the person from the team" in page.content.decode()
    assert Invitation.objects.get().revoked_at is None


@pytest.mark.parametrize("lost", ["the role", "the account"])
def test_a_link_ends_with_the_right_of_who_made_it(team: Team, ann: User, lost: str) -> None:
    address = link(team, ann)
    if lost == "the role":
        Membership.objects.filter(user=ann).update(role=Role.OPERATOR)
    else:
        User.objects.filter(pk=ann.pk).update(is_active=False)
    assert refusal(Client(), address).startswith("Whoever made this link can’t invite into the team any more.")


@pytest.mark.parametrize("address", ["/invitation/", "/invitation/?token=", "/invitation/?token=forged"])
def test_a_forged_or_missing_token_is_refused(team: Team, ann: User, address: str) -> None:
    link(team, ann)
    assert refusal(Client(), address) == "This link is not valid. Ask the person who sent it for a new one."
    assert Client().post(address, FORM, follow=True).status_code == 410


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"password1": "short", "password2": "short"}, "at least 10 characters"),
        ({"password1": "password1234", "password2": "password1234"}, "too common"),
        ({"password2": "another horse battery"}, "didn’t match"),
        ({"username": ""}, "This field is required"),
        ({"username": "ann"}, "already exists"),
    ],
)
def test_the_form_names_what_is_wrong_and_the_link_stays_good(
    team: Team, ann: User, entered: dict[str, str], told: str
) -> None:
    client = Client()
    client.get(link(team, ann))
    page = client.post("/invitation/", FORM | entered)
    assert (page.status_code, told in page.content.decode()) == (422, True), page.content.decode()
    assert client.post("/invitation/", FORM).status_code == 302


def test_of_two_who_send_the_form_at_once_one_is_made(team: Team, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    token = link(team, ann).partition("token=")[2]
    # both have passed every check when the first of them is saved
    found = invitations.verify(token)
    monkeypatch.setattr(invitations, "verify", lambda _token: found)
    invitations.accept(User(username="one"), token)
    with pytest.raises(LinkRefused, match="used already"):
        invitations.accept(User(username="two"), token)
    assert not User.objects.filter(username="two").exists()


def test_who_is_signed_in_is_told_to_sign_out_and_the_link_stays_good(team: Team, ann: User) -> None:
    address = link(team, ann)
    page = browser_of(person("bo", staff=False)).get(address, follow=True)
    assert (page.status_code, "You are signed in as bo." in page.content.decode()) == (409, True)
    assert browser_of(ann).post("/invitation/", FORM).status_code == 410
    assert Client().get(address, follow=True).status_code == 200


def test_the_form_is_protected_against_forged_requests(team: Team, ann: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.get(link(team, ann))
    assert client.post("/invitation/", FORM).status_code == 403


def test_an_owner_invites_into_their_teams_alone_and_an_administrator_into_each(team: Team, ann: User) -> None:
    other = a_team("Other")
    browser = browser_of(ann)
    page = browser.get("/invitations/new/").content
    assert (b"Payments" in page, b"Other" in page) == (True, False)
    refused = browser.post("/invitations/new/", {"team": other.pk, "role": "owner", "lifetime_days": 7})
    assert refused.status_code == 422
    assert made(browser_of(person("boss")), other).startswith("/invitation/?token=")
    theirs = Invitation.objects.get()
    assert b"Other" not in browser.get("/invitations/").content
    assert browser.post(f"/invitations/{theirs.pk}/revoke/").status_code == 404


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.OPERATOR])
def test_who_is_no_owner_invites_nobody(team: Team, ann: User, role: Role) -> None:
    link(team, ann)
    bo = browser_of(a_member(team, "bo", role))
    form = {"team": team.pk, "role": "viewer", "lifetime_days": 7}
    answers = bo.get("/invitations/"), bo.get("/invitations/new/"), bo.post("/invitations/new/", form)
    assert [one.status_code for one in answers] == [403, 403, 403]
    assert bo.post(f"/invitations/{Invitation.objects.get().pk}/revoke/").status_code == 403
    assert Invitation.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "told"),
    [({"email": "x"}, "valid email"), ({"role": "boss"}, "valid choice"), ({"lifetime_days": 365}, "valid choice")],
)
def test_a_wrong_value_is_named_beside_its_field(team: Team, ann: User, values: dict[str, object], told: str) -> None:
    form = {"team": team.pk, "role": "viewer", "lifetime_days": 7, **values}
    page = browser_of(ann).post("/invitations/new/", form)
    assert (page.status_code, told in page.content.decode()) == (422, True)
    assert not Invitation.objects.exists()


def test_the_link_is_mailed_where_mail_is_set_up(team: Team, ann: User, settings: Any) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    address = made(browser_of(ann), team, email="new@example.org", lifetime_days=1)
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["new@example.org"], "Invitation into Payments on Pooldeck")
    assert f"http://localhost:8000{address}" in sent.body
    assert timedelta(hours=23) < Invitation.objects.get().expires_at - timezone.now() <= timedelta(days=1)


def test_nothing_is_mailed_without_an_address_or_a_server(team: Team, ann: User, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    made(browser_of(ann), team, email="new@example.org")
    settings.EMAIL_HOST = "mail.example.org"
    made(browser_of(ann), team)
    assert mail.outbox == []


def test_a_mail_that_is_not_accepted_is_said_beside_the_link(
    team: Team, ann: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_message: object) -> None:
        raise smtplib.SMTPException("no such mailbox")

    settings.EMAIL_HOST = "mail.example.org"
    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    form = {"team": team.pk, "role": "viewer", "lifetime_days": 7, "email": "new@example.org"}
    page = browser_of(ann).post("/invitations/new/", form).content.decode()
    assert ("was not accepted: no such mailbox" in page, "/invitation/?token=" in page) == (True, True)


def test_a_login_of_the_mail_server_that_smtp_can_not_carry_is_not_repeated(
    team: Team, ann: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_message: object) -> None:
        "canäry".encode("ascii")

    settings.EMAIL_HOST = "mail.example.org"
    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    form = {"team": team.pk, "role": "viewer", "lifetime_days": 7, "email": "new@example.org"}
    page = browser_of(ann).post("/invitations/new/", form).content.decode()
    assert ("letters beyond ASCII" in page, "canäry" in page, "/invitation/?token=" in page) == (True, False, True)


def test_an_open_link_stands_in_no_session_as_it_is(team: Team, ann: User) -> None:
    address, client = made(browser_of(ann), team), Client()
    client.get(address)
    token = address.partition("token=")[2]
    assert len(token) > 40
    assert token not in str(dict(client.session.items()))
    assert client.get("/invitation/").status_code == 200
