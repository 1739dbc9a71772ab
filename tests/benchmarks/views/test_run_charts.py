"""Which charts a run's page has, and its looks as tables."""

import pytest

from benchmarks.analysis import chart_series
from benchmarks.models import Observation, Run, Status
from benchmarks.views.run_charts import charts_of, tables_of
from tests.benchmarks.records import a_finished_run, a_run, look_at_pool
from tests.pools.records import a_pool, a_pooler

pytestmark = pytest.mark.django_db
OF_SERVER = ["waits", "states", "transactions", "blocks", "io"]
OF_HOST = ["processors", "memory", "disks"]


def keys(run: Run) -> list[str]:
    return [chart.key for chart in charts_of(run, chart_series.course(run))]


def test_a_direct_run_that_goes_on_may_come_to_have_all_but_a_poolers():
    run = a_run(status=Status.RUNNING, attempt=1)
    assert keys(run) == ["tps", "latency", *OF_SERVER, *OF_HOST, "generator"]


def test_a_run_that_ended_has_charts_of_what_was_seen():
    run = a_finished_run()
    assert keys(run) == ["tps", "latency"]
    Observation.objects.create(run=run, attempt=1, seq=20, t=1.0, kind="server", figures={"waits": {}})
    assert keys(run) == ["tps", "latency", *OF_SERVER]


def test_a_run_whose_pool_is_gone_keeps_the_pools_charts():
    run = a_finished_run(pooled=True)
    look_at_pool(run, seq=20, t=1.0)
    Observation.objects.create(run=run, attempt=1, seq=21, t=1.0, kind="pooler", figures={"wait_ms": 1.0})
    assert keys(run) == ["tps", "latency", "split", "pool", "maxwait", "pooler"]


def test_the_chart_of_a_pool_says_what_its_pooler_does_not_count():
    run = a_run(status=Status.RUNNING, attempt=1, pool=a_pool(pooler=a_pooler(kind="pgpool")), pooled=True)
    sources = {chart.key: chart.source for chart in charts_of(run, chart_series.course(run))}
    assert sources["pool"] == (
        "SHOW POOL_POOLS, the panel's own left out, polled during the load; "
        "not counted by Pgpool-II: who waits, and for how long"
    )
    look_at_pool(run, seq=20, t=1.0, cl_waiting=None, maxwait_ms=None)
    Run.objects.filter(pk=run.pk).update(pool=None, conditions={"meanwhile": {"uncounted_by": "Pgpool-II"}})
    run = Run.objects.get(pk=run.pk)
    assert {chart.key: chart.source for chart in charts_of(run, chart_series.course(run))}["pool"] == sources["pool"]


def test_every_chart_says_where_its_numbers_come_from():
    run = a_run(status=Status.RUNNING, attempt=1)
    charts = charts_of(run, chart_series.course(run))
    assert all(chart.heading and chart.unit and chart.source for chart in charts)
    assert charts[0].source == "interval reports of pgbench"


def test_looks_are_tables_of_what_people_can_read():
    run = a_finished_run()
    figures = {"waits": {"Lock:tuple": 3, "CPU": 1}, "wal_bytes_per_s": 1234567.5, "hidden": "all"}
    Observation.objects.create(run=run, attempt=1, seq=20, t=1.5, kind="server", figures=figures)
    Observation.objects.create(run=run, attempt=1, seq=21, t=2.5, kind="server", figures={"waits": {}})
    (table,) = tables_of(chart_series.course(run))
    assert (table.heading, table.columns) == ("the server", ["t", "waits", "wal bytes per s", "hidden"])
    assert table.rows == [["1.5", "Lock:tuple 3, CPU 1", "1,234,567.5", "all"], ["2.5", "none", "–", "–"]]


def test_a_long_run_has_a_short_table():
    run = a_finished_run()
    Observation.objects.bulk_create(
        Observation(run=run, attempt=1, seq=seq, t=float(seq), kind="host", figures={"cpu_percent": 1.0})
        for seq in range(20, 120)
    )
    (table,) = tables_of(chart_series.course(run))
    assert len(table.rows) == 30
