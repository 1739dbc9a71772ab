"""Searches of runs: the same ones by the list and by the API, in any letters, and errors for admins only."""

from typing import Any

import pytest
from django.test import Client

from benchmarks.models import Run
from core.rest import filters
from tests.benchmarks.records import a_run
from tests.callers import anonymous, bearer, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs() -> list[Run]:
    """Two on Orders, one of them named; one whose database is 100%_Sure; one that failed."""
    return [
        a_run(name="Nightly", target_label="Orders on pgbouncer-1", database="orders_db"),
        a_run(target_label="Orders on pgbouncer-2", database="orders_db"),
        a_run(target_label="cluster-7/100%_Sure", database="100%_Sure"),
        a_run(target_label="Billing", database="billing", error="FATAL: Orders is full"),
    ]


def of_api(search: str, *, is_admin: bool = False) -> list[int]:
    scopes = ("read", "admin") if is_admin else ("read",)
    answer = bearer(*scopes).get("/api/v1/runs/", {"search": search})
    assert answer.status_code == 200, answer.content
    assert answer.data["count"] == len(answer.data["results"])
    return [one["number"] for one in answer.data["results"]]


def of_list(search: str) -> list[int]:
    client = Client()
    client.force_login(person())
    return [one.number for one in client.get("/runs/", {"q": search}).context["page"]]


FOUND: list[tuple[str, list[int]]] = [
    ("orders", [2, 1]),
    ("ORDERS", [2, 1]),
    ("nightly", [1]),
    ("pgbouncer-2", [2]),
    ("_db", [2, 1]),
    ("100%", [3]),
    ("%_s", [3]),
    ("billing", [4]),
    ("o_ders", []),
    ("\\", []),
]


@pytest.mark.parametrize(("search", "numbers"), FOUND)
def test_the_list_and_the_api_find_the_same_runs(runs: list[Run], search: str, numbers: list[int]) -> None:
    assert of_list(search) == numbers
    assert of_api(search) == numbers


def test_nothing_is_found_across_two_texts(runs: list[Run]) -> None:
    assert of_list("2orders_db") == of_list("nightlyorders") == of_list("nightly\norders") == []
    assert of_api('"nightly\norders"') == []


def test_the_list_finds_a_run_by_its_number(runs: list[Run]) -> None:
    assert of_list("4") == [4]
    assert of_list("1") == [3, 1]  # the other has that figure in its target


def test_every_word_must_be_found_in_one_of_the_texts(runs: list[Run]) -> None:
    assert of_api("nightly orders") == [1]
    assert of_api("nightly billing") == []


def test_words_of_errors_find_runs_for_an_admin_alone(runs: list[Run]) -> None:
    assert of_api("fatal") == []
    assert of_api("fatal", is_admin=True) == [4]
    assert of_api("orders", is_admin=True) == [4, 2, 1]
    assert of_api("billing full", is_admin=True) == [4]  # a word in what everybody searches, one in the error


def test_many_errors_are_found_as_few_are(runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "NAMED_AT_MOST", 0)
    assert of_api("fatal", is_admin=True) == [4]
    assert of_api("billing full", is_admin=True) == [4]
    assert of_api("no such word", is_admin=True) == []


def test_what_a_run_is_found_by_follows_its_name(runs: list[Run]) -> None:
    Run.objects.filter(number=2).update(name="Before The Upgrade")
    assert of_list("the upgrade") == of_api('"the upgrade"') == [2]


def test_a_page_of_a_search_has_the_rows_of_a_plain_one(runs: list[Run]) -> None:
    caller: Any = bearer("read")
    found = [
        one["number"]
        for page in (1, 2)
        for one in caller.get("/api/v1/runs/", {"search": "orders", "page_size": 1, "page": page}).data["results"]
    ]
    assert found == [2, 1]
    assert anonymous().get("/api/v1/runs/?search=orders").status_code == 401
