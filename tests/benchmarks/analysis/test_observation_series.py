"""Looks as the rows of charts."""

import pytest

from benchmarks.analysis import chart_series
from benchmarks.models import Observation, Run

pytestmark = pytest.mark.django_db
EVER = (9, 0)


def observation(run: Run, seq: int, t: float, kind: str, **figures: object) -> None:
    Observation.objects.create(run=run, attempt=1, seq=seq, t=t, kind=kind, figures=figures)


def test_each_kind_is_a_table_of_all_figures_that_its_looks_have():
    run = Run.objects.enqueue()
    observation(run, 1, 0.5, "server", waits={"CPU": 1})
    observation(run, 2, 0.5, "generator", cpu_percent=50.0)
    observation(run, 3, 1.5, "server", waits={}, commits_per_s=10.0)
    observation(run, 9, 2.5, "server", waits={"CPU": 9})
    assert chart_series.tables(run, (1, 8)) == {
        "server": {"columns": ("t", "waits", "commits_per_s"), "rows": [(0.5, {"CPU": 1}, None), (1.5, {}, 10.0)]},
        "generator": {"columns": ("t", "cpu_percent"), "rows": [(0.5, 50.0)]},
    }


def test_a_run_without_looks_has_no_tables():
    run = Run.objects.enqueue()
    assert (chart_series.tables(run, EVER), chart_series.checkpoints(run, EVER)) == ({}, [])


def test_checkpoints_are_listed_with_their_causes():
    run = Run.objects.enqueue()
    for seq, timed, requested in ((1, 0, 0), (2, 1, 0), (3, 0, 2)):
        observation(run, seq, float(seq), "server", checkpoints_timed=timed, checkpoints_requested=requested)
    observation(run, 4, 4.0, "server", waits={})
    assert chart_series.checkpoints(run, EVER) == [(2.0, 1, 0), (3.0, 0, 2)]
    assert chart_series.checkpoints(run, (1, 2)) == [(2.0, 1, 0)]


def test_very_many_looks_are_neither_read_nor_drawn_whole(monkeypatch):
    monkeypatch.setattr(chart_series, "OBSERVATIONS_READ_AT_MOST", 100)
    monkeypatch.setattr(chart_series, "OBSERVATIONS_DRAWN_AT_MOST", 50)
    run = Run.objects.enqueue()
    Observation.objects.bulk_create(
        Observation(run=run, attempt=1, seq=at, t=at + 0.5, kind="host", figures={"cpu_percent": float(at)})
        for at in range(250)
    )
    assert [row[0] for row in chart_series._observation_rows(run, "host", 250, EVER)] == [
        at + 0.5 for at in range(0, 250, 3)
    ]
    assert len(chart_series.tables(run, EVER)["host"]["rows"]) == 50
