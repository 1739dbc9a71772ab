"""Runs whose load comes from a host by SSH."""

import threading
from pathlib import Path

import pytest

from benchmarks.errors import InvalidGenerators
from benchmarks.generators import heartbeats, registry
from benchmarks.models import Generator, Run, Status
from benchmarks.runs.submission.submit import Placement
from benchmarks.targets import datasets
from core.lib.queues import WorkerKind
from panel.quickstart.servers import PostgresServer, RedisServer
from pools.errors import IllegalTransition
from pools.inventory import hosts
from pools.models import Cluster, Host
from tests.benchmarks.submitting import submit_one
from tests.live.benchmarks.by_ssh.test_machine import until
from tests.live.benchmarks.conftest import LASTING, execute
from tests.live.conftest import APP_PASSWORD, APP_ROLE
from tests.live.pools.hosts.conftest import registered
from tests.live.sshds import CuttingProxy, SshServer

LONG = {"clients": 2, "threads": 1, "duration": 120, "rate": 20, "builtin": "select-only"}


def homes(run: Run) -> list[Path]:
    """The folders that a run has on its host; other processes of the tests have theirs beside them."""
    bases = (Path("/tmp"), *Path("/run/user").glob("*"))
    return [one for base in bases for one in base.glob(f"pooldeck-run-{run.pk.hex}-*")]


def submitted(cluster: Cluster, database: str, generator: Generator, **options: object) -> Run:
    heartbeats.beat("local", WorkerKind.ALL)
    target = {"cluster": str(cluster.pk), "database": database, "user": options.pop("user", "")}
    return submit_one(target=target, options=options, author=None, place=Placement([generator.name]))


def in_thread(run: Run) -> threading.Thread:
    thread = threading.Thread(target=execute, args=(run,))
    thread.start()
    return thread


@pytest.mark.usefixtures("in_this_process")
def test_its_load_comes_from_there(cluster: Cluster, dataset: str, host: Host) -> None:
    generator = registry.add_host(host)
    run = execute(submitted(cluster, dataset, generator, **LASTING, builtin="select-only"))
    assert (run.status, run.error, run.generator) == (Status.SUCCEEDED, "", host.name)
    assert run.samples.count() >= 1
    assert run.evidence["generator"]["cores"] >= 1
    assert "ping" not in run.conditions
    assert homes(run) == []


@pytest.mark.usefixtures("in_this_process")
def test_a_cancel_ends_it_there(cluster: Cluster, dataset: str, host: Host) -> None:
    run = submitted(cluster, dataset, registry.add_host(host), **LONG)
    thread = in_thread(run)
    assert until(lambda: run.samples.exists())
    assert [one.stat().st_mode & 0o777 for home in homes(run) for one in home.glob("home/pgpass")] == [0o600]
    run.request_cancel()
    thread.join(20)
    run.refresh_from_db()
    assert (run.status, homes(run)) == (Status.CANCELLED, [])


@pytest.mark.usefixtures("in_this_process")
def test_a_cut_connection_fails_it_with_the_reason(cluster: Cluster, dataset: str, own_sshd: SshServer) -> None:
    proxy = CuttingProxy(own_sshd.port)
    run = submitted(cluster, dataset, registry.add_host(registered(own_sshd, name="cut", port=proxy.port)), **LONG)
    thread = in_thread(run)
    assert until(lambda: run.samples.exists())
    proxy.limit = 0
    thread.join(30)
    run.refresh_from_db()
    assert (run.status, "the connection to host cut was lost" in run.error) == (Status.FAILED, True)
    assert until(lambda: homes(run) == [])
    proxy.close()


@pytest.mark.usefixtures("in_this_process")
def test_a_dataset_is_prepared_from_there(
    cluster: Cluster, queue: RedisServer, postgres: PostgresServer, host: Host
) -> None:
    postgres.create_owner_and_database(APP_ROLE, APP_PASSWORD, "prepared_by_ssh")
    generator = registry.add_host(host)
    heartbeats.beat("local", WorkerKind.ALL)
    target = {"cluster": str(cluster.pk), "database": "prepared_by_ssh"}
    place = Placement([generator.name])
    run = execute(submit_one(target=target, options={"scale": 1}, author=None, purpose="prepare", place=place))
    assert (run.status, run.error, run.generator, run.progress_percent) == (Status.SUCCEEDED, "", host.name, 100.0)
    assert datasets.facts(cluster, "prepared_by_ssh").complete
    assert homes(run) == []


@pytest.mark.usefixtures("in_this_process")
def test_a_load_is_not_spread_over_a_host(cluster: Cluster, dataset: str, host: Host) -> None:
    registry.add_host(host)
    heartbeats.beat("local", WorkerKind.ALL)
    target = {"cluster": str(cluster.pk), "database": dataset}
    place = Placement(["local", host.name])
    with pytest.raises(InvalidGenerators, match="a load is spread over workers only: name a host that is reached by"):
        submit_one(target=target, options=LONG, author=None, place=place)


@pytest.mark.django_db
def test_a_host_that_is_a_generator_stays(host: Host) -> None:
    registry.add_host(host)
    with pytest.raises(IllegalTransition, match="still needed by generator"):
        hosts.remove(host)
