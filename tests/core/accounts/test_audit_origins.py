"""Who a request's acts are recorded for, and that no request that may change something leaves nothing."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from benchmarks.library.scripts import library
from core.accounts.audit import origins
from core.accounts.models import ApiToken, Team
from core.audit.models import Entry
from pools.connection_strings import FORMATS
from pools.models import Host, Pool
from tests.callers import bearer, person
from tests.pools.records import a_pool, know_password

pytestmark = pytest.mark.django_db(transaction=True)


def the_last() -> Entry:
    entry = Entry.objects.first()
    assert entry
    return entry


def all_patterns(resolver: URLResolver | None = None) -> list[URLPattern]:
    found: list[URLPattern] = []
    for one in (resolver or get_resolver()).url_patterns:
        found += all_patterns(one) if isinstance(one, URLResolver) else [one]
    return found


def test_a_persons_act_names_them_their_address_and_the_reason() -> None:
    user, browser = person("ana"), Client()
    browser.force_login(user)
    browser.post("/tokens/", {"name": "nightly", "scopes": ["read"], "lifetime_days": "30", "audit_reason": "CI"})
    entry = the_last()
    assert (entry.action, entry.actor_kind, entry.actor_name, entry.actor_id) == (
        "token.create",
        "person",
        "ana",
        str(user.pk),
    )
    assert (entry.source, entry.reason, entry.object_name) == ("127.0.0.1", "CI", "nightly")


def test_a_tokens_act_names_the_token_and_its_person() -> None:
    user = person("ana")
    answer = bearer("admin", user=user).post(
        "/api/v1/tokens/", {"name": "x", "scopes": ["read"]}, headers={"X-Reason": "rotation"}
    )
    assert answer.status_code == 201
    entry, token = the_last(), ApiToken.objects.get(name="x")
    assert (entry.action, entry.object_id, entry.reason) == ("token.create", str(token.pk), "rotation")
    assert entry.actor_kind == "token"
    assert entry.actor_name.startswith("ana: ")


def reveals_of(record: Model) -> list[str]:
    found = Entry.objects.filter(action="secret.reveal", object_id=str(record.pk)).order_by("number")
    return [one.fields["after"]["form"] for one in found]


def test_a_shown_password_is_recorded_in_each_format() -> None:
    pool = a_pool()
    know_password(pool.cluster, pool.login, "hunter2hunter2")
    client, asked = bearer("admin"), f"/api/v1/pools/{pool.pk}/connection/"
    for form in FORMATS:
        assert "hunter2hunter2" in client.get(f"{asked}?reveal=1&as={form}").json()["text"]
        assert "hunter2hunter2" not in client.get(f"{asked}?as={form}").json()["text"]
    assert reveals_of(pool) == [*FORMATS]


def test_a_password_that_is_not_known_is_not_recorded_as_shown() -> None:
    pool = a_pool()
    assert bearer("admin").get(f"/api/v1/pools/{pool.pk}/connection/?reveal=1&as=uri").status_code == 200
    assert reveals_of(pool) == []


def test_a_password_shown_on_a_page_is_recorded() -> None:
    pool, browser = a_pool(), Client()
    know_password(pool.cluster, pool.login, "hunter2hunter2")
    browser.force_login(person("ana", password="anas-own-password"))
    shown = browser.post(f"/pools/{pool.pk}/connection/", {"reveal": "1", "password": "anas-own-password"})
    assert "hunter2hunter2" in shown.content.decode()
    assert reveals_of(pool) == ["page"]


def test_sign_ins_failed_ones_and_sign_outs_are_recorded() -> None:
    User.objects.create_user("ana", password="correct-horse")
    browser = Client()
    browser.post("/login/", {"username": "ana", "password": "wrong-horse"})
    browser.post("/login/", {"username": "my-pass-word", "password": "x"})
    browser.post("/login/", {"username": "ana", "password": "correct-horse"})
    browser.post("/logout/")
    found = Entry.objects.filter(action__startswith="person.sign").order_by("number")
    assert [(one.action, one.object_name, one.outcome) for one in found] == [
        ("person.sign_in", "ana", "failed"),
        ("person.sign_in", "unknown name", "failed"),
        ("person.sign_in", "ana", ""),
        ("person.sign_out", "ana", ""),
    ]
    everything = " ".join(str(vars(one)) for one in Entry.objects.all())
    assert not [word for word in ("horse", "my-pass-word") if word in everything]


def test_an_edit_that_was_refused_is_no_act() -> None:
    pool, client = a_pool(), bearer("read")
    Entry.objects.all().delete()
    assert client.patch(f"/api/v1/pools/{pool.pk}/", {"size": 99}).status_code == 403
    assert not Entry.objects.exists()
    assert Pool.objects.get().size == pool.size


def requests_that_may_act() -> list[str]:
    names = {one.name for one in all_patterns() if one.name}
    return sorted(name for name in names if name not in origins.UNRECORDED)


@pytest.mark.parametrize("name", requests_that_may_act())
def test_every_unsafe_request_leaves_a_row(name: str) -> None:
    """Whatever its view does: where nothing in it records an act, the request itself is recorded."""
    pattern = next(one for one in all_patterns() if one.name == name)
    request = RequestFactory().post("/")
    request.resolver_match = resolve("/tokens/")
    request.resolver_match.view_name = name
    origins.audit_origin(lambda _request: HttpResponse(status=302))(request)
    assert the_last().action.partition(".")[2], pattern


def test_those_that_only_look_are_there() -> None:
    assert not origins.UNRECORDED - {one.name for one in all_patterns()}


def test_a_request_that_recorded_something_is_not_recorded_again() -> None:
    def view(request: HttpRequest) -> Any:
        Pool.objects.update(size=3)
        return HttpResponse(status=302)

    a_pool(size=2)
    Entry.objects.all().delete()
    request = RequestFactory().post("/pools/new/")
    request.resolver_match = resolve("/pools/new/")
    origins.audit_origin(view)(request)
    assert [one.action for one in Entry.objects.all()] == ["pool.change"]


def test_a_form_that_is_shown_again_is_no_act() -> None:
    browser = Client()
    browser.force_login(person("ana"))
    Entry.objects.all().delete()
    assert browser.post("/clusters/new/", {"name": ""}).status_code == 200
    assert browser.post("/pools/new/", {}).status_code == 200
    assert not Entry.objects.exists()


def test_a_request_that_the_next_page_calls_an_error_is_recorded_as_failed() -> None:
    browser, only_admin = Client(), person("ana")
    browser.force_login(only_admin)
    Entry.objects.all().delete()
    assert browser.post(f"/people/{only_admin.pk}/demote/").status_code == 302
    assert User.objects.get().is_staff
    found = [(one.action, one.outcome.partition(":")[0]) for one in Entry.objects.all()]
    assert found == [("person.demote", "failed")]


TYPED = {
    "cluster": lambda: a_pool().cluster,
    "pooler": lambda: a_pool().pooler,
    "host": lambda: Host.objects.create(name="db1", address="db1", user="postgres", public_key="ssh-ed25519 AAAA"),
    "script": lambda: library.create(name="mix", text="SELECT 1;"),
    "team": lambda: Team.objects.create(name="Payments"),
}


@pytest.mark.parametrize("kind", TYPED)
def test_a_removal_with_the_wrong_name_is_refused_and_leaves_nothing(kind: str) -> None:
    found, browser = TYPED[kind](), Client()
    browser.force_login(person("ana"))
    Entry.objects.all().delete()
    verb = "remove" if kind == "team" else "delete"
    assert browser.post(f"/{kind}s/{found.pk}/{verb}/", {"name": "another"}).status_code == 422
    assert type(found).objects.filter(pk=found.pk).exists()
    assert not Entry.objects.exists()
