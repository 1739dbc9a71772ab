"""The latencies of a run through the API."""

import uuid

import pytest

from tests.benchmarks.analysis.latency.test_report import logged
from tests.benchmarks.records import a_finished_run, a_run
from tests.callers import anonymous

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("few_are_enough")]


def address(run: object) -> str:
    return f"/api/v1/runs/{run.pk}/latencies/"  # type: ignore[attr-defined]


def test_percentiles_and_histogram_are_told(runner):
    run = logged(a_finished_run(), [1_000] * 3 + [5_000], rate=0.5)
    assert runner.get(address(run)).json() == {
        "runs": 1,
        "count": 4,
        "sampling_rate": 0.5,
        "is_firm": False,
        "note": "From 4 logged transactions (50.00% of all). A p99 from fewer than 10,000 transactions is rough.",
        "percentiles_ms": {"p50": 1.0, "p90": 5.003, "p95": 5.003, "p99": 5.003, "p99_9": 5.003},
        "bars": runner.get(address(run)).json()["bars"],
    }
    assert [bar["count"] for bar in runner.get(address(run)).json()["bars"] if bar["count"]] == [3, 1]


def test_repeats_are_merged_on_request(runner):
    group = uuid.uuid4()
    first, _ = (logged(a_finished_run(group=group), [us] * 10) for us in (1_000, 3_000))
    answer = runner.get(address(first), {"of": "repeats"}).json()
    assert (answer["runs"], answer["count"], answer["percentiles_ms"]["p99"]) == (2, 20, 3.001)
    assert runner.get(address(first), {"of": "run"}).json()["count"] == 10
    alone = logged(a_finished_run(), [1_000])
    assert runner.get(address(alone), {"of": "repeats"}).json()["runs"] == 1


def test_a_run_that_logged_nothing_has_none(runner):
    answer = runner.get(address(a_run()))
    assert answer.status_code == 200
    assert (answer.json()["count"], answer.json()["bars"], answer.json()["percentiles_ms"]["p50"]) == (0, [], None)


def test_what_can_not_be_asked_is_refused(runner):
    run = a_run()
    assert runner.get(address(run), {"of": "all"}).json() == {
        "of": ["'all' is not allowed here: use one of run, repeats"]
    }
    assert runner.post(address(run)).status_code == 405
    assert runner.get(f"/api/v1/runs/{uuid.uuid4()}/latencies/").status_code == 404
    assert anonymous().get(address(run)).status_code == 401
