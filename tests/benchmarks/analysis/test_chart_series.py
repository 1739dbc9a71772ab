"""The rows that charts are drawn from."""

import pytest

from benchmarks.analysis import chart_series
from benchmarks.models import Observation, PoolSample, Run, Sample
from tests.benchmarks.records import look_at_pool
from tests.pools.records import a_pool, a_pooler


@pytest.mark.django_db
def test_a_course_holds_all_samples_in_order_with_their_ids():
    run = Run.objects.enqueue(options={"duration": 30})
    Sample.objects.create(run=run, attempt=1, seq=2, t=2.0, tps=20.0, latency_ms=0.5, stddev_ms=None, failed=1)
    percentiles = {"latency_p50_ms": 0.2, "latency_p95_ms": 0.5, "latency_p99_ms": 0.75}
    Sample.objects.create(run=run, attempt=1, seq=1, t=1.0, tps=10.0, latency_ms=0.25, stddev_ms=0.1, **percentiles)
    Observation.objects.create(run=run, attempt=1, seq=4, t=1.5, kind="host", figures={"cpu_percent": 40.0})
    PoolSample.objects.create(
        run=run, attempt=1, seq=3, t=1.1, cl_active=4, cl_waiting=6, sv_active=4, sv_idle=0, maxwait_ms=2.5
    )
    assert chart_series.course(run) == {
        "span": 30,
        "after": "1-4",
        "samples": {
            "columns": chart_series.SAMPLE_COLUMNS,
            "rows": [
                (1, 1, 1.0, 10.0, 0.25, 0.1, 0, 0.2, 0.5, 0.75),
                (1, 2, 2.0, 20.0, 0.5, None, 1, None, None, None),
            ],
        },
        "pool": {"columns": chart_series.POOL_COLUMNS, "rows": [(1, 3, 1.1, 4, 6, 4, 0, 2.5)]},
        "uncounted": [],
        "observations": {"host": {"columns": ("t", "cpu_percent"), "rows": [(1.5, 40.0)]}},
        "checkpoints": [],
    }


@pytest.mark.django_db
def test_what_is_kept_between_two_queries_comes_by_the_events():
    run = Run.objects.enqueue()
    for seq in (1, 2):
        Sample.objects.create(run=run, attempt=1, seq=seq, t=float(seq))
    assert [row[1] for row in chart_series.progress(run, upto=(1, 1))["samples"]["rows"]] == [1]
    assert [row[1] for row in chart_series.progress(run)["samples"]["rows"]] == [1, 2]


def test_a_run_by_transactions_has_no_planned_span():
    assert chart_series.planned_seconds(Run(options={"transactions": 100, "duration": None})) is None


def test_a_few_rows_of_a_table_follow_one_column():
    table = {"columns": ("t", "tps"), "rows": [(float(t), 5.0 if t != 33 else 50.0) for t in range(100)]}
    kept = chart_series.few(table, 10, "tps")
    assert len(kept) == 10
    assert (33.0, 50.0) in kept


@pytest.mark.django_db
def test_a_run_without_summary_gets_its_figures_from_its_samples():
    run = Run.objects.enqueue()
    Sample.objects.create(run=run, seq=1, t=1.0, tps=300.0, latency_ms=1.0, failed=1)
    Sample.objects.create(run=run, seq=2, t=2.0, tps=100.0, latency_ms=3.0, failed=2)
    Sample.objects.create(run=run, seq=3, t=3.0, tps=None, latency_ms=None)
    assert chart_series.partial_summary(run) == {"tps": 200.0, "latency_avg_ms": 1.5, "failed": 3}
    assert chart_series.failed_so_far(run) == 3


@pytest.mark.django_db
def test_a_run_without_samples_has_no_figures():
    run = Run.objects.enqueue()
    assert chart_series.partial_summary(run) == {}
    assert chart_series.failed_so_far(run) == 0


@pytest.mark.django_db
def test_a_course_names_what_its_pooler_does_not_count():
    run = Run.objects.enqueue(pool=a_pool(pooler=a_pooler(kind="pgpool")))
    assert chart_series.course(run)["uncounted"] == ["cl_waiting", "maxwait_ms"]
    look_at_pool(run, 1, 1.0, cl_waiting=None, maxwait_ms=None)
    Run.objects.filter(pk=run.pk).update(pool=None)
    course = chart_series.course(Run.objects.get(pk=run.pk))
    assert course["uncounted"] == ["cl_waiting", "maxwait_ms"]
    assert course["pool"]["rows"] == [(1, 1, 1.0, 4, None, 4, 0, None)]
