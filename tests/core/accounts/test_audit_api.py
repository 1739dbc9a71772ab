"""The API of the audit trail: list, filters, one entry, and the export."""

import json

import pytest

from core.accounts.models import Membership, Role, Team
from core.audit.actors import Actor, Origin, acting
from core.audit.models import ActorKind, Entry
from core.audit.recording import Subject, record
from tests.callers import anonymous, bearer, person
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db(transaction=True)


def two_entries() -> None:
    Entry.objects.all().delete()
    with acting(Origin(Actor(ActorKind.PERSON, "anna", "7"), "192.0.2.7", "a reason")):
        record("pool.change", Subject("pool", "p1", "shop"), before={"size": 5}, after={"size": 8})
    with acting(Origin(Actor(ActorKind.PERSON, "boris", "8"))):
        record("pool.kill", Subject("pool", "p1", "shop"), outcome="failed: no answer")


def test_an_entry_reads_back_whole() -> None:
    client = bearer("read")
    two_entries()
    found = client.get("/api/v1/audit/1/").json()
    entry = Entry.objects.get(number=1)
    assert {name: found[name] for name in ("actor_name", "source", "reason", "change", "hash")} == {
        "actor_name": "anna",
        "source": "192.0.2.7",
        "reason": "a reason",
        "change": {"before": {"size": 5}, "after": {"size": 8}},
        "hash": entry.hash,
    }
    assert client.get("/api/v1/audit/3/").status_code == 404


@pytest.mark.parametrize(
    ("query", "numbers"),
    [("", [2, 1]), ("person=anna", [1]), ("action=pool", [2, 1]), ("outcome=failed", [2]), ("object=p1", [2, 1])],
)
def test_the_list_has_the_filters_of_the_page(query: str, numbers: list[int]) -> None:
    client = bearer("read")
    two_entries()
    answer = client.get(f"/api/v1/audit/?{query}").json()
    assert (answer["count"], [one["number"] for one in answer["results"]]) == (len(numbers), numbers)


def test_a_filter_that_cannot_be_read_is_400() -> None:
    answer = bearer("read").get("/api/v1/audit/?since=yesterday")
    assert (answer.status_code, list(answer.json())) == (400, ["since"])
    assert bearer("read").get("/api/v1/audit/export/?outcome=lucky").status_code == 400


def test_the_export_streams_what_the_list_has() -> None:
    client = bearer("read")
    two_entries()
    answer = client.get("/api/v1/audit/export/?action=pool")
    assert (answer.status_code, answer["Content-Type"], answer.streaming) == (200, "application/x-ndjson", True)
    lines = [json.loads(line) for line in answer.getvalue().decode().splitlines()]
    assert lines == list(reversed(client.get("/api/v1/audit/?action=pool").json()["results"]))


def test_nothing_is_written_or_removed() -> None:
    client = bearer()
    two_entries()
    found = [
        getattr(client, method)(f"/api/v1/audit/{path}").status_code
        for method, path in (("post", ""), ("put", "1/"), ("patch", "1/"), ("delete", "1/"))
    ]
    assert found == [405] * 4


@pytest.mark.parametrize("alone", [True, False], ids=["the only team", "one of two"])
def test_an_owner_reads_the_entries_of_their_team(*, alone: bool) -> None:
    user = person("olga", staff=False)
    team = Team.objects.get() if alone else Team.objects.create(name="payments")
    Membership.objects.update_or_create(team=team, user=user, defaults={"role": Role.OWNER})
    client = bearer("read", user=user)
    Entry.objects.all().delete()
    a_cluster(name="ledger", team=team)
    person("stranger")
    found = client.get("/api/v1/audit/").json()["results"]
    assert {one["team_id"] for one in found} == {str(team.pk)}
    assert "ledger" in {one["object_name"] for one in found}


def test_others_are_refused() -> None:
    assert anonymous().get("/api/v1/audit/").status_code == 401
    found = [bearer(*scopes, user=person(staff=False)).get("/api/v1/audit/").status_code for scopes in (["read"], [])]
    assert found == [403, 403]
