"""Ceilings through the API: all read, administrators with the admin scope set."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from benchmarks.models import Ceiling
from tests.callers import anonymous, bearer, queries_of
from tests.pools.records import a_cluster

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/ceilings/"


@pytest.fixture
def admin() -> APIClient:
    return bearer("admin")


def send(client: APIClient, body: dict[str, Any], address: str = ADDRESS, verb: str = "post") -> Any:
    return getattr(client, verb)(address, body, format="json")


def test_an_administrator_sets_reads_changes_and_removes(admin: APIClient):
    cluster = a_cluster()
    made = send(admin, {"cluster": str(cluster.pk), "holder": "staff", "clients": 100})
    assert made.status_code == 201
    expected = {"cluster": str(cluster.pk), "holder": "staff", "clients": 100, "threads": None, "duration": None}
    assert made.json() == expected | {"id": made.json()["id"], "scale": None}
    one = f"{ADDRESS}{made.json()['id']}/"
    assert admin.get(one).json() == made.json()
    assert send(admin, {"clients": None, "scale": 5}, one, "patch").json()["scale"] == 5
    assert admin.get(ADDRESS, {"cluster": str(cluster.pk)}).json()["count"] == 1
    assert admin.delete(one).status_code == 204


def test_others_read_only():
    Ceiling.objects.create(clients=5)
    for scopes in (("read",), ("read", "run"), ("read", "apply")):
        client = bearer(*scopes)
        assert client.get(ADDRESS).json()["count"] == 1
        assert send(client, {"holder": "staff", "clients": 9}).status_code == 403
    assert anonymous().get(ADDRESS).status_code == 401


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"holder": "staff"},
            {"non_field_errors": ["no limit is set: give at least one of clients, threads, duration and scale"]},
        ),
        ({"holder": "staff", "clients": 0}, {"clients": ["Ensure this value is greater than or equal to 1."]}),
        ({"holder": "guests", "clients": 1}, {"holder": ['"guests" is not a valid choice.']}),
        (
            {"holder": "everyone", "clients": 1},
            {"non_field_errors": ["there is a run limit for every cluster, everyone already: change that one"]},
        ),
    ],
)
def test_what_can_not_be_is_refused(admin: APIClient, body: dict[str, Any], error: dict[str, list[str]]):
    Ceiling.objects.create(clients=5)
    answer = send(admin, body)
    assert (answer.status_code, answer.json()) == (400, error)


def test_missing_ids_and_wrong_methods(admin: APIClient):
    assert admin.get(f"{ADDRESS}999/").status_code == 404
    assert admin.delete(ADDRESS).status_code == 405


def test_the_list_asks_as_often_for_three_as_for_one(admin: APIClient):
    Ceiling.objects.create(cluster=a_cluster(), clients=5)
    one = queries_of(admin, ADDRESS)
    for _ in range(2):
        Ceiling.objects.create(cluster=a_cluster(), clients=5)
    assert queries_of(admin, ADDRESS) == one
