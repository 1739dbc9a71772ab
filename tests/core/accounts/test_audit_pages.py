"""The page of the audit trail: what it shows to whom, its filters, its pages and its download."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from core.accounts.audit import entries
from core.accounts.audit.shown import ShownField, fields_of
from core.accounts.models import Membership, Role, Team
from core.audit.actors import Actor, Origin, acting
from core.audit.models import ActorKind, Entry
from core.audit.recording import Subject, attempt, record
from tests.callers import bearer, person, queries_of
from tests.panel.every_record import records
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db(transaction=True)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    Entry.objects.all().delete()  # its own
    return client


def an_admin() -> Client:
    return signed_in(person("admin"))


def an_owner(team: Team) -> Client:
    user = person("olga", staff=False)
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    return signed_in(user)


def numbers(client: Client, query: str = "") -> list[int]:
    response = client.get(f"/audit/{query}")
    assert response.status_code == 200
    return [row.entry.number for row in response.context["rows"]]


def by(name: str, kind: ActorKind = ActorKind.PERSON, **origin: str) -> Any:
    return acting(Origin(Actor(kind, name), **origin))


def test_an_entry_is_shown_with_who_where_what_and_why() -> None:
    client = an_admin()
    with by("anna", source="192.0.2.7", reason="as ticket 12 asks"):
        record("pool.change", Subject("pool", "1", "shop"), before={"size": 5}, after={"size": 8}, outcome="done")
    text = client.get("/audit/").text
    words = ("anna", "192.0.2.7", "“as ticket 12 asks”", "pool.change", "shop", "before:</span>5</del>")
    assert [word for word in (*words, "after:</span>8</ins>") if word not in text] == []
    assert client.get("/audit/")["Cache-Control"] == "no-store"


def test_what_names_hold_is_text() -> None:
    client = an_admin()
    record("pool.change", Subject("pool", "1", "<b>shop"), after={"<i>": "<script>"}, outcome="<u>")
    text = client.get("/audit/").text
    assert not [tag for tag in ("<b>shop", "<i>", "<script>&", "<u>") if tag in text]


def test_newest_first_in_pages_by_number() -> None:
    client = an_admin()
    for size in range(120):
        record("pool.change", Subject("pool", "1", "shop"), after={"size": size})
    assert numbers(client) == list(range(120, 70, -1))
    assert numbers(client, "?before=71") == list(range(70, 20, -1))
    assert numbers(client, "?before=21") == list(range(20, 0, -1))
    assert numbers(client, "?after=70") == list(range(120, 70, -1))
    assert numbers(client, "?after=20") == list(range(70, 20, -1))
    page = client.get("/audit/?before=71&action=pool").context["page"]
    assert (page.newer, page.older) == (70, 21)
    assert client.get("/audit/").context["page"].newer is None
    assert client.get("/audit/?before=21").context["page"].older is None
    assert 'href="/audit/?before=21&amp;action=pool"' in client.get("/audit/?before=71&action=pool").text
    assert numbers(client, "?before=word") == numbers(client)


FILTERED = {
    "?person=anna": [1, 2, 5],
    "?person=ann": [],
    "?action=pool": [1, 2],
    "?action=cluster.change": [5],
    "?object=SHOP": [1, 2],
    "?object=c1": [3, 4, 5],
    "?outcome=failed": [4],
    "?outcome=asked": [3],
    "?outcome=done": [1, 2, 5],
    "?person=anna&action=pool": [1, 2],
}


@pytest.mark.parametrize("query", FILTERED)
def test_filters(query: str) -> None:
    client = an_admin()
    with by("anna"):
        record("pool.change", Subject("pool", "p1", "shop"))
    with by("anna: ci", ActorKind.TOKEN):
        record("pool.change", Subject("pool", "p1", "shop"))
    with by("boris"), pytest.raises(ZeroDivisionError), attempt("cluster.drop", Subject("cluster", "c1", "main")):
        raise ZeroDivisionError
    with by("local", ActorKind.WORKER):
        record("cluster.change", Subject("cluster", "c1", "main"), asked_by="anna")
    assert sorted(numbers(client, query)) == FILTERED[query]


def test_filters_by_time() -> None:
    client = an_admin()
    for days in (3, 2, 1):
        record("pool.change", Subject("pool", "1", "shop"))
        Entry.objects.filter(number=4 - days).update(at=timezone.now() - timedelta(days=days))
    then = (timezone.localtime() - timedelta(days=2, hours=12)).strftime("%Y-%m-%dT%H:%M")  # as a browser sends it
    now = (timezone.localtime() - timedelta(days=1, hours=12)).strftime("%Y-%m-%dT%H:%M")
    assert numbers(client, f"?since={then}") == [3, 2]
    assert numbers(client, f"?since={then}&until={now}") == [2]


@pytest.mark.parametrize("query", ["?since=yesterday", "?outcome=lucky", "?person=%00"])
def test_a_filter_that_cannot_be_read_is_named(query: str) -> None:
    client = an_admin()
    record("pool.change", Subject("pool", "1", "shop"))
    response = client.get(f"/audit/{query}")
    assert (response.status_code, response.context["rows"], len(response.context["form"].errors)) == (422, [], 1)
    assert client.get(f"/audit/export/{query}").status_code == 422


def test_an_owner_sees_what_was_done_to_the_teams_own() -> None:
    payments, sales = (Team.objects.create(name=name) for name in ("payments", "sales"))
    client = an_owner(payments)
    a_cluster(name="ledger", team=payments)
    a_cluster(name="crm", team=sales)
    person("stranger")
    assert [row.entry.object_name for row in client.get("/audit/").context["rows"]] == ["ledger"]
    assert {json.loads(line)["object_name"] for line in _lines(client)} == {"ledger"}


@pytest.mark.parametrize("role", [Role.VIEWER, Role.DEVELOPER, Role.OPERATOR])
def test_others_see_no_trail(role: Role) -> None:
    user = person("vera", staff=False)
    Membership.objects.update_or_create(team=Team.objects.create(name="sales"), user=user, defaults={"role": role})
    client = signed_in(user)
    assert [client.get(address).status_code for address in ("/audit/", "/audit/export/")] == [403, 403]
    assert "/audit/" not in client.get("/").text


def test_the_number_of_queries_does_not_grow() -> None:
    client = an_admin()
    record("pool.change", Subject("pool", "1", "shop"))
    one = queries_of(client, "/audit/")
    for _ in range(2):
        record("pool.change", Subject("pool", "1", "shop"))
    assert queries_of(client, "/audit/") == one


def _lines(client: Client, query: str = "") -> list[str]:
    response = client.get(f"/audit/export/{query}")
    assert (response.status_code, response["Content-Type"]) == (200, "application/x-ndjson")
    return response.getvalue().decode().splitlines()


def test_the_download_has_a_line_for_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "PORTION", 2)
    client = an_admin()
    with by("anna", source="192.0.2.7"):
        for size in (1, 2, 3):
            record("pool.change", Subject("pool", "1", "shop"), after={"size": size})
    found = [json.loads(line) for line in _lines(client)]
    assert [one["change"]["after"]["size"] for one in found] == [1, 2, 3]
    assert found[1]["previous"] == found[0]["hash"]
    assert found[0]["actor_name"] == "anna"
    assert [json.loads(line)["number"] for line in _lines(client, "?person=boris")] == []


def shown_fields(**change: dict[str, object]) -> list[ShownField]:
    record("pool.change", Subject("pool", "1", "shop"), **change)
    return fields_of(Entry.objects.order_by("-number")[0])


def test_of_mappings_the_values_that_differ_are_shown() -> None:
    found = shown_fields(before={"settings": {"a": 1, "b": 2}}, after={"settings": {"a": 1, "b": 3}})
    assert found == [ShownField("settings.b", "2", "3")]


def test_a_secret_is_shown_as_changed() -> None:
    found = shown_fields(before={"admin_password": "old"}, after={"admin_password": "new"})
    assert found == [ShownField("admin_password", "changed", "changed")]


def test_a_text_of_several_lines_is_compared_by_line() -> None:
    found = shown_fields(before={"text": "a\nb\n"}, after={"text": "a\nc\n"})
    assert found[0].lines == ("@@ -1,2 +1,2 @@", " a", "-b", "+c")


def test_values_that_are_empty_stay_empty() -> None:
    assert shown_fields(before={"note": ""}, after={"note": False}) == [ShownField("note", "", "false")]


def test_a_token_that_reads_may_not_open_the_page() -> None:
    assert bearer("read").get("/audit/").status_code == 302


HISTORIES = {
    "cluster": "/clusters/{}/",
    "pooler": "/poolers/{}/",
    "pool": "/pools/{}/",
    "host": "/hosts/{}/",
    "run": "/runs/{}/",
    "experiment": "/experiments/{}/",
    "script": "/scripts/{}/",
    "profile": "/settings-profiles/{}/",
}


@pytest.mark.parametrize("kind", HISTORIES)
def test_each_object_has_its_history(kind: str) -> None:
    client = an_admin()
    known = records(person("anna"))
    page = HISTORIES[kind].format(known[kind])
    record(f"{kind}.change", Subject(kind, str(known[kind]), "zq"), before={"note": "a"}, after={"note": "b"})
    record(f"{kind}.change", Subject(kind, "another", "zq"))
    assert f'href="{page}history/"' in client.get(page).text
    response = client.get(f"{page}history/")
    shown = {(row.entry.object_kind, row.entry.object_id) for row in response.context["rows"]}
    assert (response.status_code, shown) == (200, {(kind, str(known[kind]))})
    assert ">b</ins>" in response.text


def test_an_added_playbook_has_its_history_and_a_built_in_one_has_none() -> None:
    client = an_admin()
    records(person("anna"))
    assert 'href="/playbooks/zqplaybook/history/"' in client.get("/playbooks/zqplaybook/").text
    rows = client.get("/playbooks/zqplaybook/history/").context["rows"]
    assert [row.entry.action for row in rows] == ["playbook.create"]
    assert "history/" not in client.get("/playbooks/reconnect/").text
    assert client.get("/playbooks/reconnect/history/").status_code == 404


def test_a_history_is_for_the_owners_of_the_object() -> None:
    payments, sales = (Team.objects.create(name=name) for name in ("payments", "sales"))
    client = an_owner(payments)
    own, foreign = a_cluster(name="ledger", team=payments), a_cluster(name="crm", team=sales)
    shared = a_cluster(name="shared", team=sales)
    shared.shared_with.add(payments)
    found = [client.get(f"/clusters/{one.pk}/history/").status_code for one in (own, foreign, shared)]
    assert found == [200, 404, 403]
    assert "history/" not in client.get(f"/clusters/{shared.pk}/").text
