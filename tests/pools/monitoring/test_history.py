"""Minutes bundled for an hour, a day and a week."""

import pytest

from pools.monitoring import history
from pools.monitoring.windows import RANGES
from tests.pools.monitoring.records import a_minute
from tests.pools.records import a_pool

pytestmark = pytest.mark.django_db


def test_an_hour_has_a_point_a_minute_and_none_for_what_is_missing():
    pool = a_pool()
    for ago in (1, 2, 30, 62):
        a_minute(pool, ago, cl_active=ago)
    found = history.of_pool(pool, RANGES["hour"].window())
    assert [point.average["cl_active"] for point in found.points] == [30, 2, 1]
    assert [point.at % 60 for point in found.points] == [0, 0, 0]
    assert found.window.begins * 60 <= found.points[0].at < found.window.ends * 60


def test_a_step_averages_by_looks_and_keeps_the_highest():
    pool = a_pool()
    begin = next(ago for ago in range(5, 10) if (a_minute(pool, ago).minute % 5) == 0)
    pool.minutes.all().delete()
    a_minute(pool, begin, snapshots=6, cl_waiting=10, queries_per_s=100, query_ms=2)
    a_minute(pool, begin - 1, snapshots=2, cl_waiting=30, queries_per_s=900, query_ms=10)
    (point,) = history.of_pool(pool, RANGES["day"].window()).points
    assert (point.average["cl_waiting"], point.maximum["cl_waiting"]) == (15, 30)
    assert (point.average["queries_per_s"], point.maximum["queries_per_s"]) == (300, 900)
    assert point.average["query_ms"] == pytest.approx((2 * 600 + 10 * 1800) / 2400)
    assert point.snapshots == 8


def test_a_time_of_nothing_is_unknown_and_no_division_by_zero():
    pool = a_pool()
    a_minute(pool, 1, queries_per_s=0, query_ms=None)
    a_minute(pool, 2, queries_per_s=None, query_ms=None)
    points = history.of_pool(pool, RANGES["hour"].window()).points
    assert [(point.average["query_ms"], point.average["queries_per_s"]) for point in points] == [
        (None, None),
        (None, 0),
    ]


def test_a_pool_has_its_own_minutes_only():
    pool, other = a_pool(), a_pool()
    a_minute(other)
    assert history.of_pool(pool, RANGES["week"].window()).points == []


@pytest.mark.parametrize("name", list(RANGES))
def test_no_range_draws_more_than_about_three_hundred_points(name):
    assert RANGES[name].minutes / RANGES[name].step <= 300


def test_a_week_is_one_query(django_assert_num_queries):
    pool = a_pool()
    for ago in range(0, 1000, 10):
        a_minute(pool, ago)
    with django_assert_num_queries(1):
        assert len(history.of_pool(pool, RANGES["week"].window()).points) in (25, 26)
