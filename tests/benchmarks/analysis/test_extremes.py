"""The rows that very long series are thinned from: what the database finds, and that all of them need not be read."""

from unittest import mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from benchmarks.analysis import chart_series, extremes
from benchmarks.analysis.chart_series import Detail
from benchmarks.models import PoolSample, Run, Sample

pytestmark = pytest.mark.django_db
DRAWN, ROWS = 20, 1_000
PEAKS, DIPS = {33: 9_000.0, 700: 8_000.0}, {250: 0.0, 999: 1.0}


def long_run(attempts: int = 1, every: int = 1) -> Run:
    """A run with a sample a second, of which some are peaks and dips, at every so many places of its events."""
    run = Run.objects.enqueue()
    Sample.objects.bulk_create(
        Sample(run=run, attempt=attempt, seq=every * t, t=float(t), tps=(PEAKS | DIPS).get(t, 100.0 + t % 7))
        for attempt in range(1, attempts + 1)
        for t in range(1, ROWS // attempts + 1)
    )
    return run


def found(run: Run, at_most: int = DRAWN) -> list[tuple[int, float]]:
    rows = Sample.objects.filter(run=run)
    keys = extremes.of_buckets(rows, "tps", at_most)
    assert keys is not None
    return list(Sample.objects.filter(pk__in=keys).values_list("attempt", "t"))


def drawn(run: Run, **detail: object) -> list[tuple[float, float]]:
    rows = chart_series.progress(run, detail=Detail(rows=DRAWN, **detail))["samples"]["rows"]
    return [(row[2], row[3]) for row in rows]


@pytest.mark.parametrize("every", [1, 5])
def test_peaks_dips_and_ends_are_found_whatever_else_is_between_them(every: int) -> None:
    places = found(long_run(every=every))
    assert {(1, float(t)) for t in (1, ROWS, *PEAKS, *DIPS)} <= set(places)
    assert len(places) <= extremes.FOR_EACH * DRAWN + 2


def test_each_attempt_has_its_share() -> None:
    places = found(long_run(attempts=2))
    assert {(attempt, float(t)) for attempt in (1, 2) for t in (1, 33, 250, ROWS // 2)} <= set(places)


def test_what_is_drawn_are_rows_in_order_with_the_highest_and_the_lowest() -> None:
    points = drawn(long_run())
    assert len(points) == DRAWN
    assert points == sorted(points)
    assert {(33.0, 9_000.0), (250.0, 0.0), (700.0, 8_000.0)} <= set(points)
    assert (points[0][0], points[-1][0]) == (1.0, float(ROWS))


def test_an_interval_without_a_figure_counts_as_the_lowest() -> None:
    run = long_run()
    Sample.objects.filter(run=run, seq=500).update(tps=None)
    assert (500.0, None) in drawn(run)


def test_a_part_of_the_run_is_found_within_it() -> None:
    times = [t for t, _tps in drawn(long_run(), span=(400.0, 800.0))]
    assert len(times) == DRAWN
    assert (times[0], times[-1]) == (380.0, 820.0)


def test_few_rows_are_exact() -> None:
    run = long_run()
    assert [t for t, _tps in drawn(run, span=(100.0, 108.0))] == [float(t) for t in range(100, 109)]
    assert extremes.of_buckets(Sample.objects.filter(run=run, seq__lte=100), "tps", DRAWN) is None


def test_rows_that_stand_close_together_are_read_whole() -> None:
    run = long_run()
    Sample.objects.create(run=run, attempt=1, seq=10_000_000, t=1001.0, tps=5.0)
    assert extremes.of_buckets(Sample.objects.filter(run=run), "tps", DRAWN) is None
    assert len(drawn(run)) == DRAWN


def test_a_pools_figures_are_found_too() -> None:
    run = Run.objects.enqueue(pooled=True)
    PoolSample.objects.bulk_create(
        PoolSample(run=run, attempt=1, seq=t, t=float(t), cl_active=1, cl_waiting=t == 77, sv_active=1, sv_idle=0)
        for t in range(1, ROWS + 1)
    )
    rows = chart_series.course(run, Detail(rows=DRAWN))["pool"]["rows"]
    assert 77.0 in [row[2] for row in rows]
    assert len(rows) == DRAWN


def test_a_long_run_is_not_read_whole() -> None:
    run = long_run()
    with mock.patch.object(chart_series, "thinned", wraps=chart_series.thinned) as thinned:
        drawn(run)
    assert len(thinned.call_args.args[0]) <= extremes.FOR_EACH * DRAWN + 2


def test_the_buckets_are_sought_in_an_index() -> None:
    run = long_run()
    with CaptureQueriesContext(connection) as queries:
        found(run)
    (sql,) = (one["sql"] for one in queries.captured_queries if "WITH RECURSIVE" in one["sql"])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"{'EXPLAIN QUERY PLAN' if connection.vendor == 'sqlite' else 'EXPLAIN'} {sql}")
        plan = "\n".join(str(row) for row in cursor.fetchall())
    index = "autoindex" if connection.vendor == "sqlite" else "one_sample_of_a_seq"
    assert plan.count(index) >= 2, plan
    assert "SCAN benchmarks_sample" not in plan
