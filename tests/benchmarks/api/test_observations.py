"""The REST API of looks."""

import uuid

import pytest

from benchmarks.models import Observation, ObservationKind, Run
from tests.callers import anonymous, queries_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def watched(run: Run) -> Run:
    """A run with two looks at the server and one at the host between them."""
    observations = [
        (10, 1.5, ObservationKind.SERVER),
        (11, 1.5, ObservationKind.HOST),
        (12, 2.5, ObservationKind.SERVER),
    ]
    Observation.objects.bulk_create(
        Observation(run=run, attempt=1, seq=seq, t=t, kind=kind, figures={"waits": {"CPU": seq}})
        for seq, t, kind in observations
    )
    return run


def url_of(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/looks/"


def test_looks_come_in_order_and_in_pages(runner, watched):
    first = runner.get(url_of(watched), {"page_size": 2}).json()
    assert (first["count"], first["results"]) == (
        3,
        [
            {"t": 1.5, "kind": "server", "figures": {"waits": {"CPU": 10}}},
            {"t": 1.5, "kind": "host", "figures": {"waits": {"CPU": 11}}},
        ],
    )
    assert [row["t"] for row in runner.get(first["next"]).json()["results"]] == [2.5]


def test_looks_of_one_kind(runner, watched):
    found = runner.get(url_of(watched), {"kind": "server"}).json()
    assert [row["t"] for row in found["results"]] == [1.5, 2.5]
    assert runner.get(url_of(watched), {"kind": "generator"}).json()["count"] == 0


def test_a_kind_that_is_none_is_refused(runner, watched):
    answer = runner.get(url_of(watched), {"kind": "weather"})
    assert answer.status_code == 400
    reported = "'weather' is not a kind of observation: choose one of pooler, server, host, generator"
    assert answer.json() == {"kind": [reported]}


def test_looks_are_only_read(runner, watched):
    assert runner.post(url_of(watched), {}).status_code == 405


def test_nobody_reads_them_unknown_and_none_are_read_of_an_unknown_run(runner, watched):
    assert anonymous().get(url_of(watched)).status_code == 401
    assert runner.get(f"/api/v1/runs/{uuid.uuid4()}/looks/").status_code == 404


def test_more_looks_take_no_more_queries(runner, watched):
    few = queries_of(runner, url_of(watched))
    Observation.objects.bulk_create(
        Observation(run=watched, attempt=1, seq=seq, t=9.0, kind="host") for seq in range(20, 40)
    )
    assert queries_of(runner, url_of(watched)) == few
