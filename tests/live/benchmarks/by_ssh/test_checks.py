"""Hosts that could not be reached are checked again by themselves."""

import pytest

from benchmarks.errors import InvalidGenerators
from benchmarks.generators import registry
from benchmarks.models import Generator, Status
from pools.inventory import hosts
from pools.models import Cluster, Host, HostState
from pools.tasks import check_hosts
from tests.live.benchmarks.by_ssh.test_runs import submitted
from tests.live.benchmarks.conftest import LASTING, execute
from tests.live.pools.hosts.conftest import registered
from tests.live.sshds import SshServer

pytestmark = [pytest.mark.usefixtures("in_this_process"), pytest.mark.django_db(transaction=True)]


@pytest.fixture
def gone(own_sshd: SshServer) -> Generator:
    """A generator whose last check found nobody there, a while ago."""
    host = registered(own_sshd)
    generator = registry.add_host(host)
    own_sshd.stop()
    hosts.check(host)
    assert host.state == HostState.UNREACHABLE
    Host.objects.update(checked_at=None)
    return generator


def test_a_run_that_names_one_that_came_back_is_taken(
    cluster: Cluster, dataset: str, gone: Generator, own_sshd: SshServer
) -> None:
    own_sshd.start()
    run = execute(submitted(cluster, dataset, gone, **LASTING, builtin="select-only"))
    assert (run.status, run.error) == (Status.SUCCEEDED, "")
    assert Host.objects.get().state == HostState.ONLINE


def test_a_run_that_names_one_that_is_gone_is_refused_with_the_reason(
    cluster: Cluster, dataset: str, gone: Generator
) -> None:
    with pytest.raises(InvalidGenerators, match=r"host db-1: unreachable \(.*Connection refused\)"):
        submitted(cluster, dataset, gone, **LASTING)
    assert Host.objects.get().checked_at


@pytest.mark.usefixtures("queue")
def test_beat_checks_those_that_are_gone(gone: Generator, own_sshd: SshServer) -> None:
    check_hosts()
    assert Host.objects.get().state == HostState.UNREACHABLE
    own_sshd.start()
    check_hosts()
    assert (Host.objects.get().state, Host.objects.get().error) == (HostState.ONLINE, "")
