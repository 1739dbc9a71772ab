"""Arms of a password method on real servers: their clients log in by it, whatever auth_type the pooler has."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from benchmarks.experiments import lifecycle, resources, start
from benchmarks.experiments.start import ExperimentRequest
from benchmarks.models import Experiment, Phase, ResourceKind
from panel.quickstart.servers import PgBouncerServer, PostgresServer, free_port
from pools.clusters import endpoints
from pools.models import AuthMethod, Cluster
from tests.live.benchmarks.experiments.conftest import until_ended
from tests.live.conftest import FAST, SUPERUSER_PASSWORD
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
DIRECT, MD5, SCRAM = "10-md5-none", "10-md5-pgbouncer", "10-scram-pgbouncer"
WITHIN_S = 120


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """A PostgreSQL that lets in roles of either hash."""
    home = tmp_path_factory.mktemp("postgres-md5")
    with PostgresServer(home, free_port(), password=SUPERUSER_PASSWORD, settings=FAST, lets_in_md5=True) as server:
        yield server


@pytest.fixture
def pgbouncer(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[PgBouncerServer]:
    """A PgBouncer of the auth_type asked for."""
    made = PgBouncerServer(tmp_path_factory.mktemp("pgbouncer"), free_port(), "pooldeck", "console-password")
    made.own_settings = {"auth_type": request.param}
    with made:
        yield made


def set_up(cluster: Cluster, author: Any) -> Experiment:
    """Carry `reconnect` on until it measures, or has ended."""
    asked = {"options": {"duration": 1}, "dataset": {"scale": 1}, "seed": 1, "repeats": 1, "cluster": cluster}
    experiment = start.start(ExperimentRequest(playbook="reconnect", arms=[DIRECT, MD5, SCRAM], author=author, **asked))
    deadline = time.monotonic() + WITHIN_S
    while experiment.phase == Phase.SETUP and not experiment.has_ended:
        assert time.monotonic() < deadline, experiment.state
        lifecycle.advance_all()
        time.sleep(0.2)
        experiment.refresh_from_db()
    return experiment


def cancel(experiment: Experiment) -> None:
    Experiment.objects.filter(pk=experiment.pk).update(cancel_requested_at=experiment.created_at)
    until_ended(experiment)


def methods_of(experiment: Experiment) -> dict[str, list[AuthMethod]]:
    """By which methods libpq logs in through its pools, by the pools' users."""
    found = {}
    for row in experiment.resources.filter(kind=ResourceKind.POOL):
        at = endpoints.for_panel(resources.pool_of(row))
        found[at.user] = [method for method in AuthMethod if logs_in(at, method)]
    return found


def logs_in(at: endpoints.Endpoint, method: str) -> bool:
    login = {"host": at.host, "port": at.port, "dbname": at.database, "user": at.user, "password": at.password}
    try:
        psycopg.connect(**login, require_auth=method, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize("pgbouncer", ["md5", "scram-sha-256"], indirect=True)
def test_clients_of_each_arm_log_in_by_its_method(checked: Cluster, worker: TestWorker, author: Any) -> None:
    experiment = set_up(checked, author)
    assert experiment.skipped == {}
    name = resources.name_of(experiment)
    assert methods_of(experiment) == {f"{name}_md5": [AuthMethod.MD5], name: [AuthMethod.SCRAM]}
    cancel(experiment)


@pytest.mark.parametrize("pgbouncer", ["trust"], indirect=True)
def test_an_arm_is_left_out_where_its_pooler_asks_for_no_password(
    checked: Cluster, worker: TestWorker, author: Any
) -> None:
    experiment = set_up(checked, author)
    reason = experiment.skipped[MD5]
    assert "_md5 log in by md5: server did not complete authentication. Allow md5 for this role by" in reason
    assert "log in by scram-sha-256" in experiment.skipped[SCRAM]
    assert DIRECT not in experiment.skipped
    assert experiment.has_ended or experiment.phase == Phase.TEARDOWN  # one arm is nothing to compare
    until_ended(experiment)
