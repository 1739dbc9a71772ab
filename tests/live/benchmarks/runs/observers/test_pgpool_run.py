"""A whole run through a Pgpool-II: what that does not count is unknown, on the page too."""

import pytest
from django.test import Client

from benchmarks.models import ObservationKind, PoolSample, Status
from benchmarks.runs.live import events
from pools import deployment
from pools.models import Cluster, Pool, Pooler, PoolState
from tests.live.benchmarks.conftest import Submit, execute
from tests.live.conftest import APP_ROLE, CHILDREN
from tests.pages import page_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("in_this_process", "without_trial"),
]


@pytest.fixture
def cached(cluster: Cluster, pgpool_pooler: Pooler, dataset: str) -> Pool:
    """An applied pool of `loaded` on a Pgpool-II."""
    values = {"name": dataset, "database": dataset, "user": APP_ROLE, "mode": "session", "size": CHILDREN}
    made = Pool.objects.create(pooler=pgpool_pooler, cluster=cluster, **values)
    deployment.apply_pooler(pgpool_pooler)
    made.refresh_from_db()
    assert made.state == PoolState.APPLIED, made.state_reason
    return made


def test_what_it_does_not_count_is_null_and_said_so(cached: Pool, submit: Submit, admin_client: Client) -> None:
    run = execute(submit(cached, clients=2, threads=1, duration=4))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    observations = list(run.pool_samples.all())
    assert observations
    assert {(observe.cl_waiting, observe.maxwait_ms) for observe in observations} == {(None, None)}
    assert max(observe.cl_active for observe in observations) >= 1
    payloads = [events.pool_payload(observe) for observe in observations]
    assert all(one["cl_waiting"] is None and one["cl_active"] is not None for one in payloads)
    of_pooler = [observe.figures for observe in run.observations.filter(kind=ObservationKind.POOLER)]
    assert {figures["wait_ms"] for figures in of_pooler} == {None}
    assert run.conditions["meanwhile"]["uncounted_by"] == "Pgpool-II"
    page = page_of(admin_client.get(f"/runs/{run.pk}/"))
    assert page.count("not counted by Pgpool-II") == 2  # The page says it below the chart and among the conditions.
    assert PoolSample.objects.filter(run=run, cl_waiting=0).count() == 0
