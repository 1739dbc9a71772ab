"""Trends of a schedule: where the level moved, what changed around it, and what the spread can show."""

from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.models import Schedule
from benchmarks.schedules import surroundings, trend_chart, trends
from tests.benchmarks.records import a_finished_run
from tests.benchmarks.schedules.records import DUE, a_schedule
from tests.pages import page_of
from tests.pools.records import a_cluster, a_pool

pytestmark = pytest.mark.django_db


def a_night(schedule: Schedule, at: int, tps: float, p95_ms: float, **fields: Any) -> None:
    """A start, so many nights after the first, with a valid run of these figures."""
    summary = {"tps": tps, "latency_p95_ms": p95_ms}
    run = a_finished_run(0, cluster=schedule.cluster, summary=summary, **fields)
    due_at = DUE + timedelta(days=at)
    schedule.starts.create(due_at=due_at, claimed_at=due_at, state="started", run=run)


def nights_with_a_step(count: int = 20, step: float = 1.18, **fields: Any) -> Schedule:
    """Nights whose p95 latency rises at the middle, when the server and the revision changed."""
    schedule, drawn = a_schedule(run=a_finished_run(0, cluster=a_cluster(protected=False), **fields)), Random(7)
    for at in range(count):
        is_after = at >= count // 2
        revision = {"id": "x", "number": 12 if is_after else 11}
        evidence = {
            "server": {"settings": {"work_mem": {"value": "4096", "unit": "kB", "source": "default"}}},
            "pooler": {
                "kind": "pgbouncer",
                "version": "1.24.1",
                "revision": revision,
            },
        }
        version = "16.5" if is_after else "16.4"
        p95_ms = 10 * (step if is_after else 1) * drawn.gauss(1, 0.02)
        a_night(schedule, at, 1000 * drawn.gauss(1, 0.02), p95_ms, evidence=evidence, server_version=version)
    return schedule


def test_the_sentence_names_since_when_by_how_much_and_what_changed_around_it() -> None:
    tps, p95 = trends.of(nights_with_a_step()).trends
    drawing = trend_chart.draw(p95, "UTC")
    assert tps.changes == ()
    ((sentence, is_worse),) = drawing.sentences
    assert is_worse
    assert sentence.startswith(
        "Since Tue 8 Dec 2026, 02:15 UTC (PostgreSQL 16.4 → 16.5; revision 11 → 12) the p95 latency is ×1.1"
    )
    assert " to ×1." in sentence
    assert [row.change for row in drawing.rows if row.change] == [sentence]


def test_a_rising_throughput_is_no_fall() -> None:
    schedule = a_schedule()
    for at in range(12):
        a_night(schedule, at, (1000 if at < 6 else 1300) + at % 3, 10)
    tps = trends.of(schedule).trends[0]
    assert [(round(change.ratio, 1), change.is_worse) for change in tps.changes] == [(1.3, False)]
    ((sentence, _),) = trend_chart.draw(tps, "UTC").sentences
    assert "nothing that the runs record changed then" in sentence


def test_the_boundaries_are_those_of_the_level_since_the_last_change() -> None:
    _tps, p95 = trends.of(nights_with_a_step()).trends
    assert p95.boundaries is not None
    low, high = p95.boundaries
    assert 10 < low < 11.8 < high < 14


def test_the_smallest_change_that_can_be_found_shrinks_with_the_spread_and_the_nights() -> None:
    few, many, quiet = (
        trends.detectable([1000 * (1 + spread * (-1) ** at) for at in range(count)])
        for count, spread in ((6, 0.02), (40, 0.02), (40, 0.005))
    )
    assert few is not None
    assert many is not None
    assert quiet is not None
    assert few > many > quiet > 0
    assert trends.detectable([1000, 1001]) is None


def test_a_pair_has_a_ratio_and_its_pooled_figures() -> None:
    pool = a_pool(cluster=a_cluster(protected=False))
    schedule = a_schedule(run=a_finished_run(0, cluster=pool.cluster, pool=pool, pooled=True), pair=True)
    for at in range(3):
        group = uuid4()
        a_night(schedule, at, 500, 4, group=group)
        for tps in (1500, 1400, 1600):
            a_finished_run(0, cluster=pool.cluster, pool=pool, pooled=True, group=group, summary={"tps": tps})
    found = {trend.metric.key: trend.values for trend in trends.of(schedule).trends}
    assert found == {"tps": [1500, 1500, 1500], "ratio": [3, 3, 3]}


def test_nights_without_a_valid_run_are_left_out_with_the_reason(client: Any, admin_user: Any) -> None:
    schedule = a_schedule()
    a_night(schedule, 0, 1000, 10)
    a_night(schedule, 1, 1, 99, validity="suspect", reasons=["1.2 of 2 clients were busy", "another"])
    a_night(schedule, 2, 1, 99, status="cancelled", validity="", error="ada cancelled it")
    a_night(schedule, 4, 1, 99, status="running", validity="", finished_at=None)
    missed_at = DUE + timedelta(days=5)
    schedule.starts.create(due_at=missed_at, claimed_at=missed_at, state="missed", reason="no generator is alive")
    found = trends.of(schedule)
    assert (len(found.nights), found.trends) == (1, ())
    numbers = [one.start.run.number if one.start.run else None for one in found.left_out]
    reasons = [
        f"run {numbers[0]} is suspect: 1.2 of 2 clients were busy",
        f"run {numbers[1]} is cancelled: ada cancelled it",
        "Missed: no generator is alive",
    ]
    assert [one.reason for one in found.left_out] == reasons
    client.force_login(admin_user)
    text = page_of(client.get(f"/schedules/{schedule.pk}/trend/"))
    for part in [*reasons, "3 of 4 nights have no figure"]:
        assert part in text


def test_a_trend_takes_the_same_queries_for_few_nights_and_many() -> None:
    few, many = nights_with_a_step(10), nights_with_a_step(30)
    with CaptureQueriesContext(connection) as of_few:
        trends.of(few)
    with CaptureQueriesContext(connection) as of_many:
        trends.of(many)
    assert len(of_few) == len(of_many)
    *figures, surroundings_alone = [query["sql"] for query in of_many]
    assert not any("evidence" in one for one in figures)
    assert "evidence" in surroundings_alone


def test_what_changed_names_versions_first_and_ends_somewhere() -> None:
    before = {f"setting_{at}": "1" for at in range(20)} | {"PostgreSQL": "16.4"}
    after = {f"setting_{at}": "2" for at in range(20)} | {"PostgreSQL": "16.5"}
    found = surroundings.changes(before, after)
    assert (found[0], found[-1], len(found)) == ("PostgreSQL 16.4 → 16.5", "13 more", 9)
    assert surroundings.changes({}, after) == []


def test_the_page_has_chart_table_and_limits(client: Any, admin_user: Any) -> None:
    client.force_login(admin_user)
    schedule = nights_with_a_step(thresholds=[{"metric": "latency_p95_ms", "at_most": 12.5}])
    text = page_of(client.get(f"/schedules/{schedule.pk}/trend/"))
    for part in ("PostgreSQL 16.4 → 16.5", "<svg", "<table", "The other line is the limit typed for the run"):
        assert part in text
    assert "would be found within five nights" in text


def test_a_page_of_one_night_says_what_it_needs(client: Any, admin_user: Any) -> None:
    client.force_login(admin_user)
    schedule = a_schedule()
    assert "A trend needs two nights" in page_of(client.get(f"/schedules/{schedule.pk}/trend/"))


def test_the_table_has_the_latest_nights_and_the_chart_all(client: Any, admin_user: Any) -> None:
    schedule = a_schedule()
    for at in range(trend_chart.LISTED + 2):
        a_night(schedule, at, 1000 + at % 3, 10)
    drawing = trend_chart.draw(trends.of(schedule).trends[0], "UTC")
    assert (len(drawing.dots), len(drawing.rows), drawing.unlisted) == (trend_chart.LISTED + 2, trend_chart.LISTED, 2)
    assert drawing.rows[0].time == drawing.last
    client.force_login(admin_user)
    assert "2 older nights are in the chart alone" in page_of(client.get(f"/schedules/{schedule.pk}/trend/"))
