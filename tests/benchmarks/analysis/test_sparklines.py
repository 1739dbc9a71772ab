"""Sparklines of lists of runs."""

import pytest

from benchmarks.analysis import sparklines
from benchmarks.models import Run, Sample

pytestmark = pytest.mark.django_db


def run_with(count):
    run = Run.objects.enqueue(target_label="shop")
    Sample.objects.bulk_create(Sample(run=run, seq=at, t=float(at), tps=at * 10.0) for at in range(1, count + 1))
    return run


def test_a_short_run_keeps_each_sample():
    run = run_with(4)
    assert sparklines.of_runs([run]) == {run.pk: [10.0, 20.0, 30.0, 40.0]}


def test_a_long_run_is_averaged_to_few_points():
    run = run_with(400)
    points = sparklines.of_runs([run])[run.pk]
    assert len(points) == sparklines.POINTS
    assert points == sorted(points)


def test_three_queries_however_many_runs(django_assert_num_queries):
    runs = [run_with(2) for _ in range(3)]
    with django_assert_num_queries(3):
        assert sparklines.of_runs(runs).keys() == {run.pk for run in runs}


def test_a_run_of_hours_is_read_about_each_point_only():
    run = run_with(sparklines.READ_WHOLE * 2)
    points = sparklines.of_runs([run])[run.pk]
    step = sparklines.READ_WHOLE * 2 / (sparklines.POINTS - 1)
    assert len(points) == sparklines.POINTS
    assert all(abs(value - 10 * at * step) < 10 * step for at, value in enumerate(points))


def test_a_run_without_samples_is_absent():
    assert sparklines.of_runs([run_with(0)]) == {}


def test_the_path_runs_from_edge_to_edge_and_is_empty_below_two_points():
    assert sparklines.path([0.0, 5.0, 10.0]) == "0.0,23.0 48.0,12.0 96.0,1.0"
    assert sparklines.path([5.0]) == ""
    assert sparklines.path([0.0, 0.0]) == "0.0,23.0 96.0,23.0"
