"""The reset of another person's lost second factor: who may, what it takes, and what the person learns of it."""

import time
from smtplib import SMTPException
from urllib.parse import urlencode

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from core.accounts.confirmation import CONFIRMED_AT
from core.accounts.models import Role
from core.accounts.sign_on import provenance
from core.audit.models import Entry
from tests.callers import bearer, person
from tests.core.accounts.people.records import a_member, a_team, browser_of

pytestmark = pytest.mark.django_db
DONE = "The second factor of ann is removed, and their sessions have ended: their password alone logs in."


def with_factor(user: User) -> User:
    for kind in (Authenticator.Type.TOTP, Authenticator.Type.RECOVERY_CODES):
        Authenticator.objects.create(user=user, type=kind, data={"secret": "x"})
    return user


def confirmed(user: User, *, ago_s: float = 0) -> Client:
    """A browser in which the user proved who they are."""
    client = browser_of(user)
    session = client.session
    session[CONFIRMED_AT] = time.time() - ago_s
    session.save()
    return client


@pytest.fixture
def ann() -> User:
    user = with_factor(a_member(a_team(), "ann", Role.OPERATOR))
    User.objects.filter(pk=user.pk).update(email="ann@example.org")
    return user


@pytest.fixture
def boss() -> User:
    return with_factor(person("boss"))


def address(user: User) -> str:
    return f"/people/{user.pk}/reset-factor/"


def texts(client: Client, user: User, **values: str) -> list[str]:
    """What the page says after the form was sent."""
    return [str(one) for one in client.post(address(user), values, follow=True).context["messages"]]


@pytest.mark.django_db(transaction=True)  # entries are written with the commit
def test_it_is_removed_with_a_reason_the_sessions_end_and_a_mail_says_so(ann: User, boss: User, settings) -> None:
    settings.EMAIL_HOST, settings.PUBLIC_URL = "smtp.example.org", "https://panel.example.org"
    lost, token, admin = Client(), bearer("read", user=ann), confirmed(boss)
    lost.force_login(ann)
    assert lost.get("/pools/").status_code == 200
    assert f'href="{address(ann)}"' in admin.get(f"/people/{ann.pk}/").content.decode()
    page = admin.get(address(ann)).content.decode()
    assert ("A mail to ann@example.org says that it was done" in page, 'name="audit_reason"' in page) == (True, True)
    assert Authenticator.objects.filter(user=ann).exists()
    assert texts(admin, ann, audit_reason="her phone was stolen, she came by") == [DONE]
    assert not Authenticator.objects.filter(user=ann).exists()
    assert Authenticator.objects.filter(user=boss).count() == 2
    assert lost.get("/pools/").headers["Location"].startswith("/login/")
    assert token.get("/api/v1/pools/").status_code == 200
    entry = Entry.objects.get(action="person.reset_second_factor")
    assert (entry.actor_name, entry.object_name, entry.reason) == ("boss", "ann", "her phone was stolen, she came by")
    assert entry.fields == {"before": {"factors": 2}}
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["ann@example.org"], "Your second factor on Pooldeck was removed")
    assert sent.body.startswith("boss removed the second factor of your account ann on a Pooldeck panel")
    assert "https://panel.example.org/account/" in sent.body
    assert f'href="{address(ann)}"' not in admin.get(f"/people/{ann.pk}/").content.decode()


def test_a_reason_is_required_where_the_settings_say_so(ann: User, boss: User, settings) -> None:
    settings.REQUIRE_REASON = True
    assert confirmed(boss).post(address(ann)).status_code == 422
    assert Authenticator.objects.filter(user=ann).exists()


@pytest.mark.parametrize(("method", "ago_s"), [("get", 901), ("post", 901), ("post", -60)])
def test_who_has_not_just_proved_who_they_are_does_so_first(ann: User, boss: User, method: str, ago_s: float) -> None:
    answer = getattr(confirmed(boss, ago_s=ago_s), method)(address(ann))
    assert answer.headers["Location"] == f"/account/confirm/?{urlencode({'next': address(ann)})}"
    assert Authenticator.objects.filter(user=ann).exists()


def test_an_administrator_without_a_second_factor_adds_one_first(ann: User) -> None:
    admin = confirmed(person("plain"))
    page = admin.get(address(ann)).content.decode()
    assert ("add yours first" in page, 'name="audit_reason"' in page) == (True, False)
    assert texts(admin, ann) == ["you have no second factor yourself: add one on your account page first"]
    assert Authenticator.objects.filter(user=ann).exists()


def test_one_that_the_provider_asked_for_counts(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "has_second_factor", lambda request: True)
    assert texts(confirmed(person("signed-on")), ann)[0] == DONE


def test_ones_own_is_changed_on_ones_own_page(boss: User) -> None:
    admin = confirmed(boss)
    assert f'href="{address(boss)}"' not in admin.get(f"/people/{boss.pk}/").content.decode()
    assert texts(admin, boss) == ["this is your own account: change your second factor on your account page"]
    assert Authenticator.objects.filter(user=boss).exists()


def test_nobody_resets_that_of_one_who_may_do_more(boss: User) -> None:
    root = with_factor(User.objects.create_superuser("root"))
    assert texts(confirmed(boss), root) == ["root may do more than you: ask an administrator who may do the same"]
    other = with_factor(User.objects.create_superuser("other"))
    assert len(texts(confirmed(other), root)) == 2
    assert not Authenticator.objects.filter(user=root).exists()


def test_where_there_is_none_that_is_said(boss: User) -> None:
    assert texts(confirmed(boss), person("bo", staff=False)) == ["bo has no second factor"]


@pytest.mark.parametrize("role", list(Role))
def test_only_administrators_may(ann: User, role: Role) -> None:
    member = confirmed(with_factor(a_member(a_team("Others"), "bo", role)))
    assert (member.get(address(ann)).status_code, member.post(address(ann)).status_code) == (403, 403)
    assert Authenticator.objects.filter(user=ann).exists()


def test_a_mail_that_can_not_be_sent_is_told_and_the_reset_stays(
    ann: User, boss: User, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(message: EmailMessage) -> None:
        raise SMTPException("no such mailbox")

    settings.EMAIL_HOST = "smtp.example.org"
    monkeypatch.setattr(EmailMessage, "send", refuse)
    assert texts(confirmed(boss), ann) == [DONE, "They were not told by mail: no such mailbox."]
    assert not Authenticator.objects.filter(user=ann).exists()


@pytest.mark.parametrize(
    ("host", "reason"), [("", "this panel sends no mail"), ("smtp.example.org", "no address of theirs is known")]
)
def test_where_no_mail_can_go_that_is_said(ann: User, boss: User, settings, host: str, reason: str) -> None:
    settings.EMAIL_HOST = host
    User.objects.filter(pk=ann.pk).update(email="")
    assert texts(confirmed(boss), ann) == [DONE, f"They were not told by mail: {reason}."]
    assert mail.outbox == []
