"""Comparisons over the API: the same arms and words as the page."""

import csv
from uuid import uuid4

import pytest

from benchmarks.models import Status, Validity
from tests.benchmarks.records import a_finished_run
from tests.callers import bearer, queries_of

URL = "/api/v1/comparisons/"


def repeats(*values, **fields):
    return [a_finished_run(1, summary={"tps": tps, "latency_avg_ms": 1000 / tps}, **fields) for tps in values]


def ids(runs):
    return ",".join(str(run.pk) for run in runs)


@pytest.fixture
def reader(db):
    return bearer("read")


@pytest.fixture
def runs(db):
    group = uuid4()
    direct, pooled = repeats(1000.0, 1040.0, 970.0, group=group), repeats(500.0, 520.0, 490.0, group=group, pooled=True)
    return [*direct, *pooled]


def test_arms_with_their_verdict_and_the_conclusion(reader, runs):
    answer = reader.get(URL, {"runs": ids(runs)})
    found = answer.json()
    assert answer.status_code == 200
    assert list(found) == ["metric", "baseline", "arms", "conclusion", "differs_in", "noise"]
    direct, pooled = found["arms"]
    assert found["baseline"] == direct["key"]
    assert (direct["label"], direct["n_valid"], direct["median"], direct["low"], direct["high"]) == (
        "direct",
        3,
        1000.0,
        970.0,
        1040.0,
    )
    assert (direct["ratio"], direct["interval"], direct["verdict"]) == (None, None, None)
    assert (pooled["verdict"], pooled["outcome"], pooled["outcome_words"]) == ("slower", "succeeded", "3 of 3 valid")
    low, high = pooled["interval"]
    assert low < pooled["ratio"] < high < 1
    assert pooled["runs"][0] == {
        "id": str(runs[3].pk),
        "number": runs[3].number,
        "outcome": "succeeded",
        "outcome_words": "succeeded",
        "value": 500.0,
    }
    assert found["conclusion"].startswith("Pooled is slower than direct: Throughput ×0.50 (95 % interval")


def test_a_group_another_baseline_and_another_metric(reader, runs):
    by_group = reader.get(URL, {"group": str(runs[0].group)}).json()
    assert [arm["n_valid"] for arm in by_group["arms"]] == [3, 3]
    asked = {"runs": ids(runs), "baseline": by_group["arms"][1]["key"], "metric": "latency_avg_ms"}
    turned = reader.get(URL, asked).json()
    assert (turned["metric"], turned["arms"][1]["label"], turned["arms"][1]["verdict"]) == (
        "latency_avg_ms",
        "direct",
        "faster",
    )


def test_what_differs_is_named(reader):
    found = repeats(1.0, options={"clients": 5}) + repeats(1.0, options={"clients": 9})
    answer = reader.get(URL, {"runs": ids(found)}).json()
    assert answer["differs_in"] == [{"name": "clients", "values": ["5", "9"]}]
    assert [arm["label"] for arm in answer["arms"]] == ["direct, clients 5", "direct, clients 9"]


def test_csv_has_an_arm_a_line_and_html_is_a_page_that_loads_nothing(reader, runs):
    table = reader.get(URL, {"runs": ids(runs), "as": "csv"})
    assert table["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(table.content.decode().splitlines()))
    assert [(row["label"], row["n_valid"], row["verdict"]) for row in rows] == [
        ("direct", "3", ""),
        ("pooled", "3", "slower"),
    ]
    page = reader.get(URL, {"runs": ids(runs), "as": "html"}).content.decode()
    assert "Pooled is slower than direct" in page
    assert "src=" not in page
    assert "href=" not in page


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "runs"),
        ({"runs": "x"}, "runs"),
        ({"runs": str(uuid4()), "group": str(uuid4())}, "runs"),
        ({"group": "x"}, "group"),
        ({"runs": str(uuid4()), "metric": "magic"}, "metric"),
        ({"runs": str(uuid4()), "as": "pdf"}, "as"),
        ({"runs": ",".join(str(uuid4()) for _ in range(61))}, "runs"),
    ],
)
def test_bad_input_is_named_by_field(reader, asked, field):
    answer = reader.get(URL, asked)
    assert (answer.status_code, list(answer.json())) == (400, [field])


def test_an_unknown_baseline_is_bad_input(reader, runs):
    answer = reader.get(URL, {"runs": ids(runs), "baseline": "pooled-00000000"})
    assert (answer.status_code, list(answer.json())) == (400, ["baseline"])


def test_unknown_runs_and_groups_are_not_found(reader, runs):
    assert reader.get(URL, {"runs": f"{runs[0].pk},{uuid4()}"}).status_code == 404
    assert reader.get(URL, {"group": str(uuid4())}).status_code == 404


def test_it_is_read_only_and_needs_a_login(reader, client, db):
    assert reader.post(URL, {}).status_code == 403  # No scope permits a write here.
    assert client.get(URL).status_code in (401, 403)


def test_three_refused_runs_take_the_queries_of_one(reader):
    failed = [a_finished_run(0, status=Status.FAILED, validity=Validity.INCOMPLETE) for _ in range(3)]
    one, three = (queries_of(reader, f"{URL}?runs={ids(some)}") for some in (failed[:1], failed))
    assert one == three


@pytest.mark.parametrize(("percent", "verdict"), [(3, "no difference shown"), (1, "faster")])
def test_the_tie_band_is_that_of_the_settings(reader, settings, percent, verdict):
    settings.TIE_BAND_PERCENT = percent
    found = repeats(1000.0, 1001.0, 999.0) + repeats(1020.0, 1021.0, 1019.0, pooled=True)
    arm = reader.get(URL, {"runs": ids(found)}).json()["arms"][1]
    assert (arm["verdict"], arm["interval"][0] > 1) == (verdict, True)


def test_three_runs_with_samples_take_the_queries_of_one(reader):
    sampled = [a_finished_run(20) for _ in range(3)]
    one, three = (queries_of(reader, f"{URL}?runs={ids(some)}") for some in (sampled[:1], sampled))
    assert one == three
