"""The trend of a playbook's ratios on a cluster."""

import pytest

from benchmarks.experiments.report import trend
from benchmarks.models import ExperimentState
from tests.benchmarks.experiments.records import a_measured_experiment, an_experiment
from tests.pools.records import a_cluster

FIGURES = {"10-scram-none": [100, 101, 99], "10-scram-pgbouncer": [200, 210, 195], "10-scram-pgpool": [98, 99, 97]}

pytestmark = pytest.mark.django_db


def test_it_shows_each_arm_over_the_experiments_with_this_one_marked() -> None:
    cluster = a_cluster()
    first, this = (a_measured_experiment(FIGURES, cluster=cluster) for _ in range(2))
    found = trend.of(this)
    assert found is not None
    assert [(one.experiment, one.is_this) for one in found.rows] == [(this, True), (first, False)]
    assert [chart.label for chart in found.charts] == [
        "10 clients, SCRAM, PgBouncer",
        "10 clients, SCRAM, Pgpool-II, same host",
    ]
    pooled, same = found.charts
    assert [point.is_this for point in pooled.points] == [False, True]
    assert pooled.points[0].words.startswith(f"experiment {first.number}: ×2.02 (×1.")
    low, high = pooled.points[0].ends
    assert high < pooled.points[0].y < low < found.one  # upward is faster
    assert found.one < same.points[0].y
    assert [number for _, number in found.numbers] == [first.number, this.number]


def test_other_clusters_sizes_and_failures_do_not_belong_to_it() -> None:
    cluster = a_cluster()
    this = a_measured_experiment(FIGURES, cluster=cluster)
    a_measured_experiment(FIGURES)
    a_measured_experiment(FIGURES, cluster=cluster, state=ExperimentState.FAILED)
    an_experiment(cluster=cluster)
    assert trend.of(this) is None


def test_one_that_has_not_succeeded_shows_those_before_it() -> None:
    cluster = a_cluster()
    for _ in range(2):
        a_measured_experiment(FIGURES, cluster=cluster)
    found = trend.of(an_experiment(cluster=cluster))
    assert found is not None
    assert [one.is_this for one in found.rows] == [False, False]
    running = a_measured_experiment(FIGURES, cluster=cluster, state=ExperimentState.RUNNING)
    assert [one.is_this for one in trend.of(running).rows] == [False, False]
