"""Who is told that a request waits and how it ended, and what a page says before an act is asked for."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from core.accounts.access import Access
from core.accounts.models import FIRST_TEAM, Membership, Role, Team
from core.audit.actors import Actor, Origin, acting
from core.audit.models import ActorKind
from pools.approvals import requests
from pools.approvals.errors import HeldBack
from pools.inventory import pools
from pools.models import Act, ApprovalNotice, ApprovalRequest, ApprovalRules, Pool
from pools.monitoring import approval_notices, channels
from pools.monitoring.channels import DeliveryFailed
from tests.callers import person
from tests.pools.records import a_cluster, a_pool

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mailed(settings: Any) -> list[Any]:
    settings.EMAIL_HOST, settings.WEBHOOK_URL, settings.PUBLIC_URL = "mail.invalid", "", "https://panel.example"
    return mail.outbox


@pytest.fixture
def pool(db: None) -> Pool:
    cluster = a_cluster(name="orders", team=Team.objects.get(pk=FIRST_TEAM))
    ApprovalRules.objects.create(cluster=cluster, acts=list(Act.values))
    return a_pool(name="shop", cluster=cluster)


def member(name: str, role: Role) -> User:
    found = person(name, staff=False)
    User.objects.filter(pk=found.pk).update(email=f"{name}@example.org")
    Membership.objects.update_or_create(team_id=FIRST_TEAM, user=found, defaults={"role": role})
    return User.objects.get(pk=found.pk)


@pytest.fixture
def dana(db: None) -> User:
    return member("dana", Role.OPERATOR)


@pytest.fixture
def eve(db: None) -> User:
    return member("eve", Role.OPERATOR)


def ask(pool: Pool, user: User, reason: str = "moved") -> ApprovalRequest:
    origin = Origin(Actor(ActorKind.PERSON, user.get_username(), str(user.pk)), reason=reason)
    with acting(origin), pytest.raises(HeldBack) as held:
        pools.remove(pool)
    return held.value.approval


def addresses(mailed: list[Any]) -> list[list[str]]:
    return [message.to for message in mailed]


def test_those_who_can_approve_are_mailed_with_the_link_and_the_reason(
    pool: Pool, dana: User, eve: User, mailed: list[Any]
) -> None:
    member("vera", Role.VIEWER)
    person("without-address")
    request = ask(pool, dana)
    approval_notices.send_due()
    assert addresses(mailed) == [["eve@example.org"]]
    assert "Remove pool shop" in mailed[0].subject
    assert "dana asks for it" in mailed[0].body
    assert "Reason: moved" in mailed[0].body
    assert f"https://panel.example/approvals/{request.pk}/" in mailed[0].body
    approval_notices.send_due()
    assert len(mailed) == 1


def test_who_asked_is_mailed_once_it_is_decided(pool: Pool, dana: User, eve: User, mailed: list[Any]) -> None:
    request = ask(pool, dana)
    approval_notices.send_due()
    with acting(Origin(Actor(ActorKind.PERSON, "eve", str(eve.pk)))):
        requests.reject(request, Access.by(eve))
    approval_notices.send_due()
    assert addresses(mailed) == [["eve@example.org"], ["dana@example.org"]]
    assert "Asked for by dana: rejected; eve decided." in mailed[1].body


def test_who_withdraws_a_request_is_not_told_of_it_and_nobody_else_is(pool: Pool, dana: User, eve: User) -> None:
    request = ask(pool, dana)
    with acting(Origin(Actor(ActorKind.PERSON, "dana", str(dana.pk)))):
        requests.reject(request, Access.by(dana))
    approval_notices.send_due()
    assert mail.outbox == []


def test_who_asked_is_mailed_once_it_has_expired(pool: Pool, dana: User, mailed: list[Any]) -> None:
    request = ask(pool, dana)
    ApprovalNotice.objects.all().delete()
    ApprovalRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    approval_notices.send_due()
    assert addresses(mailed) == [["dana@example.org"]]
    assert "Asked for by dana: expired." in mailed[0].body


def test_the_webhook_gets_it_in_the_shape_of_an_event(
    pool: Pool, dana: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_HOST, settings.WEBHOOK_URL = "", "https://hooks.example/"
    sent: list[channels.Letter] = []
    monkeypatch.setitem(channels.SENDERS, channels.Channel.WEBHOOK, sent.append)
    request = ask(pool, dana)
    approval_notices.send_due()
    found = json.loads(json.dumps(sent[0].events))[0]
    assert (found["id"], found["moment"], found["kind"]) == (str(request.pk), "asked", "approval")
    assert found["subject"] == {"type": "cluster", "id": str(pool.cluster_id), "name": "orders"}
    assert found["url"] == f"https://panel.example/approvals/{request.pk}/"


def test_a_notice_that_was_not_taken_is_sent_again_later(
    pool: Pool, dana: User, eve: User, monkeypatch: pytest.MonkeyPatch, mailed: list[Any]
) -> None:
    def refuse(_letter: channels.Letter) -> None:
        raise DeliveryFailed("no route")

    ask(pool, dana)
    with monkeypatch.context() as patch:
        patch.setitem(channels.SENDERS, channels.Channel.EMAIL, refuse)
        approval_notices.send_due()
    notice = ApprovalNotice.objects.get()
    assert (notice.sent_at, notice.error, notice.attempts) == (None, "no route", 1)
    ApprovalNotice.objects.update(due_at=timezone.now())
    approval_notices.send_due()
    assert addresses(mailed) == [["eve@example.org"]]


def test_all_who_can_approve_are_told_by_one_message(pool: Pool, dana: User, eve: User, mailed: list[Any]) -> None:
    """A server that refuses an address of several takes the message for the others."""
    another = member("abe", Role.OPERATOR)
    User.objects.filter(pk=another.pk).update(email="abe@example.org")
    ask(pool, dana)
    approval_notices.send_due()
    assert addresses(mailed) == [["abe@example.org", "eve@example.org"]]


def test_a_page_says_beforehand_that_it_waits_and_for_whom(pool: Pool, dana: User, eve: User) -> None:
    member("vera", Role.VIEWER)
    browser = Client()
    browser.force_login(dana)
    page = " ".join(browser.get(f"/pools/{pool.pk}/delete/").content.decode().split())
    assert "This waits for a second person" in page
    assert "Those who can: eve" in page
    ApprovalRules.objects.update(acts=[])
    assert "a second person</h" not in browser.get(f"/pools/{pool.pk}/delete/").content.decode()


def test_a_page_says_that_nobody_else_could_approve(pool: Pool, dana: User) -> None:
    browser = Client()
    browser.force_login(dana)
    page = " ".join(browser.get(f"/pools/{pool.pk}/console/kill/").content.decode().split())
    assert "Nobody else has it now" in page


def test_what_is_approved_is_recorded_with_the_reason_of_who_asked(pool: Pool, dana: User, eve: User) -> None:
    request = ask(pool, dana, "moved to the warehouse")
    origin = Origin(Actor(ActorKind.PERSON, "eve", str(eve.pk)))
    seen: list[str] = []
    with acting(origin), pytest.MonkeyPatch.context() as patch:
        verb = requests.VERBS["pool.remove"]
        patch.setitem(requests.VERBS, "pool.remove", requests.Verb(verb.act, lambda **_: seen.append(origin.reason)))
        request.verb = "pool.remove"
        requests._carry_out(request, requests.VERBS["pool.remove"], {})
    assert (seen, origin.reason) == (["moved to the warehouse"], "")


def test_the_form_of_a_pool_says_which_size_waits(pool: Pool, dana: User) -> None:
    browser = Client()
    browser.force_login(dana)
    note, address = "waits until a second person approves it", f"/pools/{pool.pk}/edit/"
    assert note not in browser.get(address).content.decode()
    ApprovalRules.objects.update(pool_size=20)
    page = " ".join(browser.get(address).content.decode().split())
    assert f"A pool that grows beyond 20 {note}" in page
