"""A NUL character, which PostgreSQL takes in no text, is the caller's mistake wherever a request has it."""

import pytest
from django.test import Client

from benchmarks.models import Run
from tests.benchmarks.records import a_run
from tests.callers import bearer, person
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db
NUL = "shop\0"
LISTS = ("/runs/", "/pools/", "/clusters/", "/poolers/", "/entries/", "/events/", "/people/", "/scripts/", "/audit/")


@pytest.fixture
def browser() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person())
    return client


@pytest.mark.parametrize("path", LISTS)
def test_a_list_that_is_searched_for_one_says_so_or_finds_nothing(browser: Client, path: str) -> None:
    answer = browser.get(path, {"q": NUL, "pooler": NUL, "cluster": NUL})
    assert answer.status_code in (200, 400)
    if answer.status_code == 400:
        assert b"NUL character (0x00): leave it out" in answer.content


@pytest.mark.parametrize("path", ["runs", "pools", "clusters", "poolers", "events"])
def test_the_api_answers_400_or_finds_nothing(path: str) -> None:
    client = bearer()
    client.raise_request_exception = False
    assert client.get(f"/api/v1/{path}/", {"search": NUL}).status_code == 400
    assert client.get(f"/api/v1/{path}/", {"cluster": NUL, "name": NUL, "tag": NUL}).status_code in (200, 400)


@pytest.mark.parametrize("path", ["/pools/new/", "/pools/choices/", "/runs/new/", "/datasets/new/"])
def test_a_form_names_the_field(browser: Client, path: str) -> None:
    a_pool()
    answer = browser.post(path, {"pooler": NUL, "cluster": NUL, "pool": NUL, "route": "pooled"})
    assert answer.status_code == 200


def test_a_note_is_not_saved(browser: Client) -> None:
    run = a_run()
    answer = browser.post(f"/runs/{run.pk}/note/", {"note": "a\0b"})
    assert answer.status_code in (302, 400)
    if answer.status_code == 400:  # of PostgreSQL
        assert Run.objects.get(pk=run.pk).note == ""
