"""A run through an HAProxy, whose figures come from its stats socket."""

import pytest

from benchmarks.models import Status
from pools import deployment
from pools.clusters import endpoints
from pools.models import Cluster, Mode, Pool, Pooler
from tests.live.benchmarks.conftest import Submit, execute

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_goes_through_an_haproxy_and_carries_its_sessions(
    haproxy_pooler: Pooler, cluster: Cluster, dataset: str, submit: Submit
) -> None:
    values = {"name": dataset, "database": dataset, "user": "app", "mode": Mode.SESSION, "size": 100}
    pool = Pool.objects.create(pooler=haproxy_pooler, cluster=cluster, **values)
    deployment.apply_pooler(haproxy_pooler)
    assert endpoints.of_pool(pool).address == f"{haproxy_pooler.host}:{haproxy_pooler.port}"
    run = execute(submit(pool, clients=4, threads=1, duration=4))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    samples = list(run.pool_samples.all())
    assert max(sample.cl_active for sample in samples) == 4
    assert max(sample.sv_active for sample in samples) == 4
