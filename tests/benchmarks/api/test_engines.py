"""The REST API of engines."""

import pytest

from benchmarks.engines import ENGINES
from tests.callers import anonymous, bearer, queries_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/engines/"


def test_each_engine_tells_who_has_it_or_why_it_can_not_be_chosen(seen, warp):
    seen("east", engines={"pgbench": "15.18", "http": "3.11"})
    seen("west", engines={"pgbench": "16.2"})
    answer = bearer("read").get(URL).json()
    assert answer["count"] == len(answer["results"]) == len(ENGINES)
    found = {one.pop("name"): one for one in answer["results"]}
    assert found["pgbench"] == {"generators": {"east": "15.18", "west": "16.2"}, "missing": ""}
    assert found["http"] == {"generators": {"east": "3.11"}, "missing": ""}
    assert found["warp"] == {
        "generators": {},
        "missing": "no generator has it (east, west reported so): no warp here: install it",
    }


def test_others_are_refused(seen):
    assert anonymous().get(URL).status_code == 401
    assert bearer("run").get(URL).status_code == 403
    assert bearer().post(URL, {}, format="json").status_code == 405
    assert bearer().get(f"{URL}pgbench/").status_code == 404


def test_the_number_of_queries_does_not_grow(seen):
    client = bearer("read")
    seen("east", engines={"pgbench": "15.18"})
    once = queries_of(client, URL)
    for name in ("north", "west"):
        seen(name, engines={"pgbench": "15.18"})
    assert queries_of(client, URL) == once
