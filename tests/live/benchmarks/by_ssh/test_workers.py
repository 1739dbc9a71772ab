"""Loads on a host that a real worker carries: dispatched through the queue, and ended when the worker is."""

import os
import signal
import time

import psutil
import pytest

from benchmarks.generators import registry
from benchmarks.models import Run, Status
from benchmarks.runs.submission.submit import Placement
from panel.quickstart.servers import PostgresServer
from pools.models import Cluster, Host
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.by_ssh.test_machine import until
from tests.live.benchmarks.by_ssh.test_runs import LONG, homes
from tests.live.benchmarks.conftest import LASTING, ended, has_samples, pgbenches, wait_for
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.panel_programs import TestWorker

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN_S = 5.0


def submitted(cluster: Cluster, database: str, host: Host, purpose: str = "load", **options: object) -> Run:
    place = Placement([registry.add_host(host).name])
    assert until(registry.alive), "the worker beats again a moment after a test before it emptied Redis"
    target = {"cluster": str(cluster.pk), "database": database}
    return submit_one(target=target, options=options, author=None, purpose=purpose, place=place)


@pytest.mark.usefixtures("worker")
def test_a_worker_carries_a_run_there(cluster: Cluster, dataset: str, host: Host) -> None:
    run = wait_for(submitted(cluster, dataset, host, **LASTING, builtin="select-only"), ended)
    assert (run.status, run.error, run.generator) == (Status.SUCCEEDED, "", host.name)
    assert run.samples.count() >= 1
    assert homes(run) == []


@pytest.mark.usefixtures("worker")
def test_a_worker_prepares_a_dataset_from_there(cluster: Cluster, postgres: PostgresServer, host: Host) -> None:
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "prepared_by_worker")
    run = wait_for(submitted(cluster, "prepared_by_worker", host, "prepare", scale=1), ended)
    assert (run.status, run.error, run.generator) == (Status.SUCCEEDED, "", host.name)
    assert homes(run) == []


def ends_within(run: Run, seconds: float) -> float:
    """After how many seconds the load and its home were gone; fails after as many."""
    began = time.monotonic()
    assert until(lambda: not pgbenches(run) and homes(run) == [], seconds), (pgbenches(run), homes(run))
    return time.monotonic() - began


@pytest.mark.timing
def test_a_worker_that_is_killed_leaves_nothing_there(
    worker: TestWorker, cluster: Cluster, dataset: str, host: Host
) -> None:
    run = wait_for(submitted(cluster, dataset, host, **LONG), has_samples(1))
    assert pgbenches(run)
    worker.kill(signal.SIGKILL)
    took_s = ends_within(run, WITHIN_S)
    print(f"the load ended {took_s:.2f} s after its worker was killed")


@pytest.mark.timing
def test_a_child_of_a_worker_that_is_killed_leaves_nothing_there(
    worker: TestWorker, cluster: Cluster, dataset: str, host: Host
) -> None:
    run = wait_for(submitted(cluster, dataset, host, **LONG), has_samples(1))
    os.kill(carrying(worker), signal.SIGKILL)
    took_s = ends_within(run, WITHIN_S)
    print(f"the load ended {took_s:.2f} s after the process that carried it was killed")


@pytest.mark.timing
def test_a_worker_that_stands_still_leaves_nothing_there(
    worker: TestWorker, cluster: Cluster, dataset: str, host: Host
) -> None:
    """As a machine that is suspended: no connection is closed, and nothing more is sent."""
    run = wait_for(submitted(cluster, dataset, host, **LONG), has_samples(1))
    processes = psutil.Process(worker.process.pid).children(recursive=True)
    for one in processes:
        one.suspend()
    try:
        took_s = ends_within(run, WITHIN_S)
    finally:
        for one in processes:
            one.resume()
    print(f"the load ended {took_s:.2f} s after its worker stood still")
    wait_for(run, ended)


def carrying(worker: TestWorker) -> int:
    """The process that carries a run: the one whose children are ssh."""
    (found,) = {
        one.parent().pid for one in psutil.Process(worker.process.pid).children(recursive=True) if one.name() == "ssh"
    }
    return found
