"""Experiments carried out by a real worker on real servers, shortened for CI."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.experiments import lifecycle, results, start
from benchmarks.experiments.results import Result
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.models import Experiment
from pools.inventory import poolers
from pools.clusters import health_check
from pools.models import Cluster, Pooler
from tests.live.benchmarks.conftest import TestWorker

WITHIN_S = 240
SHORT = {"duration": 2}
CarryOut = Callable[..., Result]


@pytest.fixture
def carry_out(cluster: Cluster, pooler: Pooler, worker: TestWorker, django_user_model: Any) -> CarryOut:
    """Start a playbook and carry it on until it has ended."""
    health_check.check_cluster(cluster)
    poolers.check(pooler)
    author = django_user_model.objects.create_superuser("dba")

    def run(playbook: str, **asked: Any) -> Result:
        request = ExperimentRequest(playbook=playbook, cluster=cluster, author=author, options=SHORT, seed=1, **asked)
        return results.of(until_ended(start.start(request)))

    return run


def until_ended(experiment: Experiment) -> Experiment:
    """Carry it on as beat does; fails at the deadline with where it was."""
    deadline = time.monotonic() + WITHIN_S
    while not experiment.has_ended:
        assert time.monotonic() < deadline, f"{experiment} is {experiment.state} ({experiment.phase}) still"
        lifecycle.advance_all()
        time.sleep(0.3)
        experiment.refresh_from_db()
    return experiment
