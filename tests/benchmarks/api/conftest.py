"""Runs as the database holds them; nothing is started."""

import pytest

from benchmarks.models import Run, RunOutput, Sample, Status
from tests.callers import bearer
from tests.pools.api.conftest import make_cluster, make_pool, make_pooler


@pytest.fixture
def cluster(db):
    return make_cluster()


@pytest.fixture
def pool(cluster):
    return make_pool(cluster, make_pooler())


@pytest.fixture
def runner(db):
    """A client that may read and run."""
    return bearer("read", "run")


def make_run(cluster=None, *, samples=0, **fields):
    values = {"database": "app", "target_label": "shop/app", "options": {"clients": 2}, "status": Status.SUCCEEDED}
    run = Run.objects.enqueue(cluster=cluster, **(values | fields))
    Sample.objects.bulk_create(
        Sample(run=run, attempt=1, seq=seq, t=float(seq), tps=100.0 + seq, latency_ms=1.5, stddev_ms=0.1, failed=0)
        for seq in range(1, samples + 1)
    )
    return run


@pytest.fixture
def run(cluster):
    made = make_run(cluster, samples=3)
    RunOutput.objects.create(run=made, stdout="tps = 101.5", stderr="progress: 1.0 s", truncated=True)
    return made
